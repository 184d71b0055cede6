// A stopwatch by the names that programs know from NVIDIA's samples. It tells the host's time.
#pragma once
#include <chrono>

class StopWatchInterface {
  public:
    void start() {
        began_ = std::chrono::steady_clock::now();
        runs_ = true;
    }
    void stop() {
        last_ = since();
        total_ += last_;
        ++times_;
        runs_ = false;
    }
    void reset() {
        total_ = last_ = 0.0f;
        times_ = 0;
        if (runs_) start();
    }
    float getTime() const { return runs_ ? total_ + since() : total_; }
    float getAverageTime() const { return times_ ? total_ / times_ : 0.0f; }

  private:
    float since() const {
        const auto passed = std::chrono::steady_clock::now() - began_;
        return std::chrono::duration<float, std::milli>(passed).count();
    }
    std::chrono::steady_clock::time_point began_{};
    float total_ = 0.0f, last_ = 0.0f;  // milliseconds
    int times_ = 0;
    bool runs_ = false;
};

inline bool sdkCreateTimer(StopWatchInterface** timer) {
    *timer = new StopWatchInterface;
    return true;
}

inline bool sdkDeleteTimer(StopWatchInterface** timer) {
    delete *timer;
    *timer = nullptr;
    return true;
}

inline bool sdkStartTimer(StopWatchInterface** timer) {
    if (*timer) (*timer)->start();
    return true;
}

inline bool sdkStopTimer(StopWatchInterface** timer) {
    if (*timer) (*timer)->stop();
    return true;
}

inline bool sdkResetTimer(StopWatchInterface** timer) {
    if (*timer) (*timer)->reset();
    return true;
}

inline float sdkGetTimerValue(StopWatchInterface** timer) {
    return *timer ? (*timer)->getTime() : 0.0f;
}

inline float sdkGetAverageTimerValue(StopWatchInterface** timer) {
    return *timer ? (*timer)->getAverageTime() : 0.0f;
}
