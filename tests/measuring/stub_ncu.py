"""Nsight Compute without a profiler: runs the program it is given and writes a log as it would.

The environment spoils it: STUB_REFUSES is an error that it meets, STUB_COUNTS how many launches it
profiles (2 without it).
"""

import os
import subprocess
import sys
from pathlib import Path

HEAD = (
    "ID,Process ID,Process Name,Host Name,Kernel Name,Context,Stream,Block Size,Grid Size,"
    "Device,CC,"
    "dram__bytes_read.sum,gpu__time_duration.sum,launch__registers_per_thread,"
    "lts__t_sector_hit_rate.pct,sm__throughput.avg.pct_of_peak_sustained_elapsed,"
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"
)
UNITS = ",,,,,,,,,,,byte,nsecond,register/thread,%,%,inst"
ROW = (
    '"{id}","7","python3","host","stream_copy(float*)","1","7","(256, 1, 1)","(264, 1, 1)",'
    '"0","9.0","134,217,728","61,440","16","49.98","n/a","8.25"'
)


def quoted(line: str) -> str:
    return ",".join(f'"{word}"' for word in line.split(","))


def main() -> int:
    words = sys.argv[1:]
    log = words[words.index("--log-file") + 1]
    assert words[words.index("--profile-from-start") + 1] == "off"
    assert words[words.index("--clock-control") + 1] == "none"
    program = words[words.index(next(w for w in words if w.endswith(("python", "python3")))) :]
    done = subprocess.run(program)
    lines = [f"==PROF== Connected to process 7 ({program[0]})"]
    refusal = os.environ.get("STUB_REFUSES")
    if refusal:
        lines.append(f"==ERROR== {refusal}")
    elif done.returncode == 0:
        lines += ['==PROF== Profiling "stream_copy": 0%....100% - 38 passes', quoted(HEAD)]
        lines.append(quoted(UNITS))
        lines += [ROW.format(id=i) for i in range(int(os.environ.get("STUB_COUNTS", "2")))]
    Path(log).write_text("\n".join(lines) + "\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
