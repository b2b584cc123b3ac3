# pmu-probe's part in an OpenOCD that it starts itself, in front of the user's files: what their `examine-end` sets in an
# STM32's DBGMCU is noted, and put back before OpenOCD ends. The blocks are those of RM0440 (F1 to F7, G4, L1, L4, WB, WL),
# RM0456 (H5, L5, U5), RM0433 (H7, over its APB-AP and over its bus; with the trace funnel) and RM0091 (F0, G0, L0).
set ::pmu_dbgmcu {0xE0042000 0xE0042FFF 0xE0044000 0xE0044FFF 0xE00E1000 0xE00E4FFF 0x5C001000 0x5C004FFF 0x40015800 0x40015BFF}

proc pmu_is_dbgmcu {address} {
    foreach {first last} $::pmu_dbgmcu {
        if {$address >= $first && $address <= $last} {
            return 1
        }
    }
    return 0
}

proc pmu_word {target address} {
    return [expr {[lindex [$target read_memory $address 32 1] 0] + 0}]
}

# In the place of `mmw REGISTER SET CLEAR`, and of a chip's own with the target before the register
proc pmu_modify {own words} {
    set target [target current]
    if {[llength $words] == 4} {
        set target [lindex $words 0]
    }
    set address [lindex $words end-2]
    set key "$target $address"
    set noted [expr {![pmu_is_dbgmcu $address] || [catch {pmu_word $target $address} before]}]
    uplevel #0 [concat [list $own] $words]
    if {$noted || [catch {pmu_word $target $address} after]} {
        return
    }
    if {![info exists ::pmu_before($key)]} {
        set ::pmu_before($key) $before
        set ::pmu_noted [concat [list $key] $::pmu_noted]
    }
    set ::pmu_after($key) $after
}

# The last first: the first one may be what gives the others their clock. What was changed since then stays.
proc pmu_put_back {} {
    foreach key $::pmu_noted {
        set target [lindex $key 0]
        set address [lindex $key 1]
        catch {
            if {[pmu_word $target $address] == $::pmu_after($key)} {
                $target write_memory $address 32 $::pmu_before($key)
            }
        }
    }
}

proc pmu_watch_files {} {
    foreach name [info procs *mmw] {
        set n [llength [info args $name]]
        if {$n == 4 || $name eq "mmw"} {
            rename $name pmu_own_$name
            proc $name {args} "pmu_modify pmu_own_$name \$args"
        }
    }
    lappend ::pre_shutdown_commands pmu_put_back
}

# The files are read by the time of `init`, OpenOCD's or the user's own.
if {![catch {rename init pmu_init}]} {
    proc init {} {
        if {![info exists ::pmu_watches]} {
            set ::pmu_watches 1
            catch {pmu_watch_files}
        }
        pmu_init
    }
}
set ::pmu_noted {}
