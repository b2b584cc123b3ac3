# The commands `pmu delta`, `pmu stat` and so on in every GDB; gdb -nx leaves them out
# A removed package leaves this file until it is purged
python
import os
if os.path.exists("/usr/share/pmu-probe/gdb-scripts/pmu.py"):
    gdb.execute("source /usr/share/pmu-probe/gdb-scripts/pmu.py")
end
