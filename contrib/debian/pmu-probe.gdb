# The commands `pmu delta`, `pmu stat` and so on in every GDB; gdb -nx leaves them out
source /usr/share/pmu-probe/gdb-scripts/pmu.py
