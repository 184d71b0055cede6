// Options on the command line, and files beside a program, by the names that programs know from
// NVIDIA's samples.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <strings.h>

#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif

namespace kernelcast {
// What stands behind `-name`, with one dash or more: after a `=`, or nothing. Null where the option
// is not given.
inline const char* option(int count, const char** words, const char* name) {
    const size_t length = std::strlen(name);
    const char* found = nullptr;
    for (int i = 1; i < count; ++i) {
        const char* word = words[i];
        if (*word != '-') continue;
        while (*word == '-') ++word;
        if (strncasecmp(word, name, length) != 0) continue;
        if (word[length] == '=') found = word + length + 1;
        if (word[length] == '\0') found = word + length;
    }
    return found;
}
}  // namespace kernelcast

inline bool checkCmdLineFlag(int count, const char** words, const char* name) {
    return kernelcast::option(count, words, name) != nullptr;
}

inline int getCmdLineArgumentInt(int count, const char** words, const char* name) {
    const char* value = kernelcast::option(count, words, name);
    return value ? std::atoi(value) : 0;
}

inline float getCmdLineArgumentFloat(int count, const char** words, const char* name) {
    const char* value = kernelcast::option(count, words, name);
    return value ? static_cast<float>(std::atof(value)) : 0.0f;
}

inline bool getCmdLineArgumentString(int count, const char** words, const char* name,
                                     char** value) {
    const char* found = kernelcast::option(count, words, name);
    *value = const_cast<char*>(found);
    return found != nullptr;
}

template <class T>
inline bool getCmdLineArgumentValue(int count, const char** words, const char* name, T* value) {
    const char* found = kernelcast::option(count, words, name);
    if (found) *value = static_cast<T>(std::atof(found));
    return found != nullptr;
}

// A file that is looked for where programs are started and where their data lie; null without one.
inline char* sdkFindFilePath(const char* file, const char* program) {
    std::string folder = program ? program : "";
    const size_t slash = folder.rfind('/');
    folder = slash == std::string::npos ? "./" : folder.substr(0, slash + 1);
    const std::string folders[] = {"./", "./data/", "../data/", folder, folder + "data/"};
    for (const std::string& near : folders) {
        const std::string path = near + file;
        if (std::FILE* there = std::fopen(path.c_str(), "rb")) {
            std::fclose(there);
            return strdup(path.c_str());
        }
    }
    return nullptr;
}
