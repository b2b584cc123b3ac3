# pmu-probe's part inside OpenOCD 0.12 or later. It carries out lists of register steps next to the
# target, and answers in numbers. The tool sends this text over the Tcl port when it connects; a board
# file that wants pmu_mem_ap loads it with: source [find pmu.tcl]
#
# A step is six words: op unit bits address a b
#   0 read     a = how many, at rising addresses
#   1 write    a = value
#   2 until    read again until (what is read & a) == b
#   3 expect   the list ends here unless (what is read & a) == b
#   4 time     microseconds
# A unit is an index into `target names`, 0x10000 + an AP (the DAP's index in bits 15:8), or 0x20000 +
# the index of a DAP in bits 15:8. The access ports of an ADIv6 DAP have addresses: here they go by their place in
# ::pmu_addresses.
#
# An answer is: pmu SEQUENCE WHY DONE SAW COUNT RESULT... and, after a fault, a line of OpenOCD's words.
# WHY: 0 done, 1 not yet, 2 unexpected, 3 fault, 4 the core is OpenOCD's: see pmu_hold_again, 5 another client
# moved the core: see pmu_met, the line says how. DONE counts whole steps; the results may hold the beginning of a
# read after them.

# ---- how a unit is reached: each gets a command that knows read_memory and write_memory

# AP and DAP of a core: `cget` fails for what has none
proc pmu_dap_of {target} {
    if {[catch {$target cget -dap} dap]} {
        return ""
    }
    return $dap
}

proc pmu_ap_of {target} {
    if {[catch {$target cget -ap-num} ap]} {
        return -1
    }
    return $ap
}

# Cores other than Cortex-M have their debug registers on an APB-AP. If the board file does not say
# which, OpenOCD takes the first one, and we do the same.
proc pmu_find_apb {dap} {
    if {![info exists ::pmu_apb($dap)]} {
        set ::pmu_apb($dap) [pmu_look_for_apb $dap]
    }
    return $::pmu_apb($dap)
}

# The number by which the tool knows an access port, and which one that is
proc pmu_number_of_ap {dap ap} {
    if {$ap < 256} {
        return $ap
    }
    if {![info exists ::pmu_addresses($dap)]} {
        set ::pmu_addresses($dap) {}
    }
    set number [lsearch $::pmu_addresses($dap) [expr {$ap + 0}]]
    if {$number < 0} {
        set number [llength $::pmu_addresses($dap)]
        lappend ::pmu_addresses($dap) [expr {$ap + 0}]
    }
    return $number
}

# Of an ADIv6 DAP whose ports nobody has asked for yet, the first ones are those of its cores
proc pmu_ap_of_number {dap number} {
    if {![info exists ::pmu_addresses($dap)]} {
        foreach target [target names] {
            if {[pmu_dap_of $target] eq $dap} {
                pmu_number_of_ap $dap [pmu_ap_of $target]
            }
        }
    }
    if {![info exists ::pmu_addresses($dap)]} {
        return $number
    }
    return [lindex $::pmu_addresses($dap) $number]
}

proc pmu_look_for_apb {dap} {
    for {set ap 0} {$ap < 16} {incr ap} {
        if {[catch {$dap apreg $ap 0xfc} idr]} {
            return -1
        }
        if {($idr & 0x1e00f) == 0x10002 || ($idr & 0x1e00f) == 0x10006} {
            return $ap
        }
    }
    return -1
}

# path: 0 the target itself, 1 a mem_ap next to it, 2 the registers of its access port
proc pmu_core_path {target} {
    set dap [pmu_dap_of $target]
    set ap [pmu_ap_of $target]
    set type [$target cget -type]
    if {$dap eq "" || $type eq "mem_ap"} {
        return [list 0 $target]
    }
    if {$ap < 0 && $type ne "cortex_m" && $type ne "hla_target"} {
        set ap [pmu_find_apb $dap]
    }
    if {$ap < 0} {
        return [list 0 $target]
    }
    foreach other [target names] {
        if {[$other cget -type] eq "mem_ap" && [pmu_dap_of $other] eq $dap && [pmu_ap_of $other] == $ap} {
            return [list 1 $other]
        }
    }
    if {$type eq "cortex_m" || $type eq "hla_target"} {
        return [list 0 $target]
    }
    # Through the core, memory can be read only while it is halted, and its own debug registers not at all
    set base [expr {$ap > 255 ? 0xd00 : 0}]
    if {[catch {$dap apreg $ap $base}]} {
        return [list 0 $target]
    }
    set via "pmu_via_[incr ::pmu_aliases]"
    alias $via pmu_window $dap $ap $base
    return [list 2 $via]
}

proc pmu_reach {unit} {
    if {[info exists ::pmu_via($unit)]} {
        return $::pmu_via($unit)
    }
    if {$unit < 0x10000} {
        set target [lindex [target names] $unit]
        if {$target eq ""} {
            error "OpenOCD has no target $unit"
        }
        lassign [pmu_core_path $target] ::pmu_path($unit) via
    } else {
        set dap ""
        catch {set dap [lindex [dap names] [expr {($unit >> 8) & 0xff}]]}
        if {$dap eq ""} {
            error "OpenOCD does not have that DAP"
        }
        set via "pmu_via_[incr ::pmu_aliases]"
        if {$unit < 0x20000} {
            alias $via pmu_ap $dap [pmu_ap_of_number $dap [expr {$unit & 0xff}]]
        } else {
            alias $via pmu_dp $dap
        }
    }
    set ::pmu_via($unit) $via
    return $via
}

# ADIv6 has the registers that ADIv5 has 0xd00 higher
proc pmu_ap {dap ap what offset bits value} {
    if {$ap > 255 && $offset < 0x100} {
        incr offset 0xd00
    }
    if {$what eq "write_memory"} {
        $dap apreg $ap $offset $value
        return
    }
    return [string trim [$dap apreg $ap $offset]]
}

proc pmu_dp {dap what offset bits value} {
    if {$what eq "write_memory"} {
        $dap dpreg $offset $value
        return
    }
    return [string trim [$dap dpreg $offset]]
}

# Memory through an access port's registers. Words go through the four banked data registers, which never
# move TAR. So OpenOCD's cached TAR stays right, as it follows our write. ::pmu_csw and ::pmu_at hold the
# values of CSW and TAR. They are forgotten between calls, because OpenOCD may change both. The driver of the
# ST-Link makes a memory access of each data register's, with the size last written to CSW, and forgets that
# size with the access (stlink_usb.c, stlink_dap_op_queue_ap_read): there, CSW is written before each.
proc pmu_window {dap ap base what address bits value} {
    if {$address > 0xffffffff || $address < 0} {
        error "address beyond 32 bits"
    }
    if {$bits > 32} {
        error "no 64-bit access here"
    }
    if {$what eq "write_memory"} {
        set register [pmu_window_set $dap $ap $base $address $bits]
        $dap apreg $ap $register [expr {($value << (8 * ($address & 3))) & 0xffffffff}]
        return
    }
    set values {}
    for {set i 0} {$i < $value} {incr i} {
        set register [pmu_window_set $dap $ap $base $address $bits]
        set word [string trim [$dap apreg $ap $register]]
        if {$bits < 32} {
            set word [expr {($word >> (8 * ($address & 3))) & ((1 << $bits) - 1)}]
        }
        lappend values $word
        incr address [expr {$bits / 8}]
    }
    return $values
}

# Points TAR at the address; returns the register through which to access it
proc pmu_window_set {dap ap base address bits} {
    set forgets [expr {![catch {adapter name} name] && $name eq "st-link"}]
    if {$::pmu_csw ne "$dap $ap $bits" || $forgets} {
        set ::pmu_csw ""
        set csw [$dap apreg $ap $base]
        set wanted [expr {($csw & 0xffffffc8) | ($bits >> 4)}]
        if {$csw != $wanted || $forgets} {
            $dap apreg $ap $base $wanted
        }
        set ::pmu_csw "$dap $ap $bits"
        set ::pmu_at ""
    }
    set start [expr {$bits == 32 ? $address & 0xfffffff0 : $address}]
    if {$::pmu_at ne $start} {
        set ::pmu_at ""
        set ::pmu_tar [list $dap $ap [expr {$base + 4}]]
        $dap apreg $ap [expr {$base + 4}] $start
        set ::pmu_at $start
    }
    return [expr {$bits == 32 ? $base + 0x10 + ($address & 0xc) : $base + 0xc}]
}

# ---- steps

# `heeds`: what another client did with the core ends it
proc pmu_execute {sequence slice budget program {heeds 0}} {
    set ::pmu_call [list $slice $budget $program]
    pmu_answer $sequence [expr {$heeds && $::pmu_met ne "" ? "pmu_refuse" : "pmu_interpret"}]
}

# A reset shows in the core's registers, too: one answer says who did it
proc pmu_refuse {} {
    set ::pmu_why 5
    set ::pmu_words $::pmu_met
    if {$::pmu_met eq "reset"} {
        set ::pmu_met ""
    }
    return ""
}

# Runs a command that sets ::pmu_why, ::pmu_done, ::pmu_saw and ::pmu_results, and catches OpenOCD's log,
# because an error's reason is there and not in the Tcl result. `capture` returns the log, unless it is
# empty.
#
# A number is carried out once: after a cut connection the tool sends a request again, and gets its answer. A
# lower number of the same tool, which differ in 24 bits, was held up on the way.
proc pmu_answer {sequence command} {
    pmu_loud
    lassign $::pmu_said last answer
    set ::pmu_seen [clock milliseconds]
    if {$sequence > $last || ($sequence >> 24) != ($last >> 24)} {
        if {[pmu_hold_again [expr {$sequence >> 24}]]} {
            set answer [pmu_carry_out $sequence $command]
        } else {
            set answer "pmu $sequence 4 0 0 0 "
        }
        set ::pmu_said [list $sequence $answer]
    }
    pmu_say $answer
}

proc pmu_carry_out {sequence command} {
    set ::pmu_why 0
    set ::pmu_done 0
    set ::pmu_saw 0
    set ::pmu_results {}
    set ::pmu_csw ""
    set ::pmu_at ""
    set ::pmu_tar ""
    set ::pmu_words ""
    set ::pmu_reason ""
    set ::pmu_own 1
    if {[catch {capture $command} log]} {
        set ::pmu_why 3
        append ::pmu_words " " $log
        set log ""
    }
    set ::pmu_own 0
    set answer "pmu $sequence $::pmu_why $::pmu_done $::pmu_saw [llength $::pmu_results] $::pmu_results"
    if {$::pmu_why == 3 || $::pmu_why == 5} {
        if {$::pmu_reason ne "" || [string trim $log] eq ""} {
            set log $::pmu_words
        }
        append answer "\n" [string map [list [format %c 26] " "] [string range $log 0 1500]]
    }
    return $answer
}

# OpenOCD prints the result of a request over the Tcl port on its terminal and, while the target runs, on
# GDB's. So its log is off from the answer on, until OpenOCD has nothing else to do or the next request arrives.
proc pmu_say {answer} {
    if {$::pmu_loudness eq ""} {
        set ::pmu_loudness [lindex [debug_level] end]
    }
    debug_level -2
    catch {after cancel $::pmu_quiet}
    set ::pmu_quiet [after 0 pmu_loud]
    return $answer
}

proc pmu_loud {} {
    if {$::pmu_loudness ne ""} {
        debug_level $::pmu_loudness
        set ::pmu_loudness ""
    }
}

# The log of a second try has the reason; that of the first does not count
proc pmu_retry {command} {
    set ::pmu_command $command
    if {[catch {capture {set ::pmu_value [eval $::pmu_command]}} ::pmu_reason]} {
        error $::pmu_reason
    }
    set ::pmu_reason ""
    return $::pmu_value
}

proc pmu_interpret {} {
    lassign $::pmu_call slice budget program
    set start [clock milliseconds]
    set done 0
    set results {}
    set why 0
    set last ""
    if {[catch {
        foreach {op unit bits address a b} $program {
            # The wall clock may be set back
            set now [clock milliseconds]
            if {$done && ($now - $start > $budget || $now < $start)} {
                set why 1
                break
            }
            if {$unit ne $last} {
                set via [pmu_reach $unit]
                set last $unit
                set ::pmu_touched($unit) 1
            }
            if {$op == 0} {
                if {$a == 1} {
                    lappend results [$via read_memory $address $bits 1]
                } else {
                    # In pieces. The first is small, because the adapter may be slow
                    set piece 64
                    while {1} {
                        set n [expr {$a < $piece ? $a : $piece}]
                        set before [clock milliseconds]
                        if {[catch {$via read_memory $address $bits $n} values]} {
                            # One at a time, to find the one that fails
                            for {set i 0} {$i < $n} {incr i} {
                                set one [expr {$address + $i * $bits / 8}]
                                lappend results [pmu_retry [list $via read_memory $one $bits 1]]
                            }
                        } else {
                            lappend results {*}$values
                        }
                        set a [expr {$a - $n}]
                        if {$a == 0} {
                            break
                        }
                        set address [expr {$address + $n * $bits / 8}]
                        set now [clock milliseconds]
                        if {$now - $start > $budget || $now < $start} {
                            set why 1
                            break
                        }
                        if {$now - $before < 10} {
                            set piece [expr {$piece * 4}]
                        }
                    }
                    if {$why} {
                        break
                    }
                }
            } elseif {$op == 1} {
                $via write_memory $address $bits $a
            } elseif {$op == 4} {
                lappend results [clock microseconds]
            } else {
                set value [$via read_memory $address $bits 1]
                while {($value & $a) != $b} {
                    set now [clock milliseconds]
                    if {$op == 3 || $now - $start >= $slice || $now < $start} {
                        set why [expr {$op == 3 ? 2 : 1}]
                        set ::pmu_saw $value
                        break
                    }
                    set value [$via read_memory $address $bits 1]
                }
                if {$why} {
                    break
                }
                lappend results $value
            }
            incr done
        }
    } words]} {
        set why 3
        set ::pmu_words $words
        # After a failed write of TAR, OpenOCD's cached TAR is wrong: write it again
        if {$::pmu_tar ne ""} {
            lassign $::pmu_tar dap ap register
            catch {$dap apreg $ap $register 0}
        }
    }
    set ::pmu_why $why
    set ::pmu_done $done
    set ::pmu_results $results
    return ""
}

# ---- what there is

# The place of a target other than a Cortex-M, after its type: ,PORT,COREID,DBGBASE. PORT is that of a unit,
# without 0x10000. Where a CTI is cannot be asked
proc pmu_place {target type} {
    set dap [pmu_dap_of $target]
    if {$dap eq "" || $type eq "cortex_m" || $type eq "hla_target"} {
        return $type
    }
    set ap [pmu_ap_of $target]
    if {$ap < 0} {
        set ap [pmu_find_apb $dap]
    }
    set number [lsearch [dap names] $dap]
    if {$ap < 0 || $number < 0} {
        return $type
    }
    set base 0
    catch {set base [$target cget -dbgbase]}
    set id 0
    catch {set id [$target cget -coreid]}
    set port [expr {$number * 256 + [pmu_number_of_ap $dap $ap]}]
    return "$type,$port,[expr {$id + 0}],[expr {$base + 0}]"
}

# A line for each target: index state type name
proc pmu_open {} {
    array unset ::pmu_via
    array unset ::pmu_path
    array unset ::pmu_apb
    array unset ::pmu_addresses
    pmu_targets
}

proc pmu_targets {} {
    set lines "pmu"
    set index 0
    foreach target [target names] {
        pmu_reach $index
        set state [lsearch {unknown running halted reset} [$target curstate]]
        append lines "\n$index [expr {$state < 0 ? 0 : $state}] [pmu_place $target [$target cget -type]] $target"
        incr index
    }
    pmu_say $lines
}

# ---- keep OpenOCD away from the target, and let it back

# `poll` without an argument says whether polling is on, but also polls the current target. So a mem_ap is
# chosen, which nothing can disturb; the choice holds for this connection only. Without any target `poll`
# would end OpenOCD.
proc pmu_is_polling {} {
    set names [target names]
    if {[llength $names] == 0} {
        return 1
    }
    set before [target current]
    foreach target $names {
        if {[$target cget -type] eq "mem_ap"} {
            catch {targets $target}
            break
        }
    }
    catch {poll} words
    catch {targets $before}
    return [expr {![string match "*background polling: off*" $words]}]
}

# `port` is the tool's, of its connection; `session` is what its sequences have above 24 bits; `halted` is a step
# that is met while the holder's core is halted
proc pmu_hold {on {port 0} {session 0} {halted {}}} {
    if {$on} {
        if {![pmu_hold_again $session]} {
            return ""
        }
        # Set already: the holder died. The state that it found counts
        if {![info exists ::pmu_polling]} {
            set ::pmu_polling [pmu_is_polling]
            set ::pmu_stood [pmu_halted]
        }
        set ::pmu_session $session
        set ::pmu_halted $halted
        set ::pmu_sockets [pmu_sockets_of $port]
        poll off
        pmu_listen 1
        pmu_watch_holder
    } elseif {[info exists ::pmu_polling]} {
        pmu_listen 0
        if {$::pmu_polling} {
            poll on
        }
        unset ::pmu_polling
        set ::pmu_lapsed 0
    }
    return ""
}

# The holder has another connection
proc pmu_hold_from {port} {
    if {[info exists ::pmu_polling]} {
        set ::pmu_sockets [pmu_sockets_of $port]
    }
    return ""
}

# The cores that OpenOCD believes to be halted
proc pmu_halted {} {
    set halted {}
    foreach target [target names] {
        if {[$target cget -type] ne "mem_ap" && [$target curstate] eq "halted"} {
            lappend halted $target
        }
    }
    return $halted
}

# ---- what other clients (GDB, telnet, an IDE) do with the core while it is held: OpenOCD runs its targets' event
# handlers, before those of the user's configuration

proc pmu_listen {on} {
    set ::pmu_met ""
    array unset ::pmu_touched
    foreach target [target names] {
        foreach event {resume-start resumed resume-end step-start reset-start halted} {
            set ours "pmu_meet $target $event\n"
            if {[$target cget -type] eq "mem_ap" || [catch {$target cget -event $event} body]} {
                continue
            }
            set is_set [string equal -length [string length $ours] $ours $body]
            if {$on && !$is_set} {
                catch {$target configure -event $event $ours$body}
            } elseif {!$on && $is_set} {
                catch {$target configure -event $event [string range $body [string length $ours] end]}
            }
        }
    }
}

# The first one counts, and a reset more than all. `resumed` is also OpenOCD's word for a core that it finds
# running; between start and end of a resume it is a core that another one takes along (SMP). Only OpenOCD's read
# of a halted core of A and R changes its registers.
proc pmu_meet {target event} {
    set type [$target cget -type]
    set is_m [expr {$type eq "cortex_m" || $type eq "hla_target"}]
    switch $event {
        resume-start { set ::pmu_resuming 1 }
        resume-end { set ::pmu_resuming 0 }
    }
    if {$::pmu_own || ![info exists ::pmu_polling] || $event eq "resume-end" ||
        ($event eq "resumed" && !$::pmu_resuming) || ($event eq "halted" && ($is_m || $::pmu_lapsed)) ||
        ![pmu_touches $target]} {
        return
    }
    if {$::pmu_met eq "" || $event eq "reset-start"} {
        array set how {resume-start resumed resumed resumed step-start stepped reset-start reset halted halted}
        set ::pmu_met $how($event)
    }
}

# Whether the holder uses this target, or one at the same access port, which may be moved with it (SMP)
proc pmu_touches {target} {
    set port [pmu_port_of $target]
    foreach unit [array names ::pmu_touched] {
        if {$unit < 0x10000} {
            set other [pmu_port_of [lindex [target names] $unit]]
        } else {
            set dap [lindex [dap names] [expr {($unit >> 8) & 0xff}]]
            set other [list $dap [pmu_ap_of_number $dap [expr {$unit & 0xff}]]]
        }
        lassign $other dap ap
        if {$other eq $port || ($dap eq [lindex $port 0] && ($ap == -1 || [lindex $port 1] == -1))} {
            return 1
        }
    }
    return 0
}

proc pmu_port_of {target} {
    set dap [pmu_dap_of $target]
    if {$dap eq ""} {
        return $target
    }
    set ap [pmu_ap_of $target]
    if {$ap < 0 && [$target cget -type] ne "cortex_m"} {
        set ap [pmu_find_apb $dap]
    }
    return [list $dap [expr {$ap + 0}]]
}

# A holder that was killed cannot end its hold. One whose connection is closed, and that asks for nothing for so
# long, is taken for dead: polling is as it was. One that is suspended, or whose network stalls, is not: its
# connection is open. If OpenOCD polled a core that is halted at its breakpoint, it would use the program's
# registers for that, and only OpenOCD could give them back. And in the middle of what a dead holder did there, it
# would take other values for the program's, or crash: such a core is left to the next pmu-probe.
proc pmu_watch_holder {} {
    catch {after cancel $::pmu_timer}
    catch {set ::pmu_timer [after 2000 pmu_look_at_holder]}
}

proc pmu_look_at_holder {} {
    if {![info exists ::pmu_polling] || $::pmu_lapsed} {
        return
    }
    set quiet [expr {[clock milliseconds] - $::pmu_seen}]
    if {($quiet < 10000 && $quiet > -10000) || [pmu_holder_is_connected] || [pmu_stands]} {
        pmu_watch_holder
        return
    }
    set ::pmu_lapsed 1
    if {$::pmu_polling} {
        catch {poll on}
    }
}

# Whether the holder's core is halted
proc pmu_stands {} {
    set ::pmu_csw ""
    set ::pmu_at ""
    lassign $::pmu_halted op unit bits address a b
    if {$op eq "" || [catch {[pmu_reach $unit] read_memory $address $bits 1} value]} {
        return 0
    }
    return [expr {($value & $a) == $b}]
}

# The holder asks again, by another connection: the hold goes on, unless OpenOCD has found a core halted
# meanwhile. Then the core is OpenOCD's for good, and every request of that session is answered so.
proc pmu_hold_again {session} {
    if {$::pmu_lapsed && [info exists ::pmu_polling]} {
        set ::pmu_lapsed 0
        set found 0
        foreach target [pmu_halted] {
            set found [expr {$found || [lsearch -exact $::pmu_stood $target] < 0}]
        }
        if {$found && $session == $::pmu_session} {
            unset ::pmu_polling
            set ::pmu_taken $session
        } else {
            catch {poll off}
            pmu_watch_holder
        }
    }
    return [expr {$session != $::pmu_taken}]
}

# ---- whether the holder's connection is open: what Linux says of this process

# The inodes of its sockets
proc pmu_own_sockets {} {
    set own {}
    foreach file [glob -nocomplain /proc/self/fd/*] {
        if {![catch {file readlink $file} name] && [string match "socket:*" $name]} {
            lappend own [string range $name 8 end-1]
        }
    }
    return $own
}

# Those of the connections from that port; if there is none, because a tunnel or a router is between, all of the
# Tcl port. {}: not known.
proc pmu_sockets_of {port} {
    set own [pmu_own_sockets]
    set exact {}
    set any {}
    set here 0
    catch {set here [expr {[string trim [tcl_port]] + 0}]}
    foreach table {/proc/self/net/tcp /proc/self/net/tcp6} {
        catch {
            set file [open $table]
            while {[gets $file line] >= 0} {
                # Its number, here, there, the state (1: established), ..., the inode
                set inode [lindex $line 9]
                if {[lindex $line 3] ne "01" || [lsearch -exact $own $inode] < 0} {
                    continue
                }
                if {[string match "*:[format %04X $port]" [lindex $line 2]]} {
                    lappend exact $inode
                }
                if {[string match "*:[format %04X $here]" [lindex $line 1]]} {
                    lappend any $inode
                }
            }
        }
        catch {close $file}
    }
    return [expr {[llength $exact] > 0 ? $exact : $any}]
}

# True if it is not known
proc pmu_holder_is_connected {} {
    set own [pmu_own_sockets]
    set open [expr {[llength $::pmu_sockets] == 0}]
    foreach inode $::pmu_sockets {
        set open [expr {$open || [lsearch -exact $own $inode] >= 0}]
    }
    return $open
}

# ---- one tool at a time: its mark stays here if it dies, and the next one finds it

proc pmu_claim {mine dead} {
    if {![info exists ::pmu_holder] || $::pmu_holder eq $dead} {
        set ::pmu_holder $mine
    }
    pmu_say "pmu held $::pmu_holder"
}

proc pmu_give_up_claim {mine} {
    if {[info exists ::pmu_holder] && $::pmu_holder eq $mine} {
        unset ::pmu_holder
    }
    return ""
}

# Polled first: OpenOCD's state of the core may be old after it was kept away
proc pmu_resume {unit} {
    set target [lindex [target names] $unit]
    catch {$target arp_poll}
    if {[$target curstate] eq "halted"} {
        targets $target
        resume
    }
    return ""
}

# WHY 1: not halted yet
proc pmu_halt {unit ms} {
    set target [lindex [target names] $unit]
    catch {$target arp_poll}
    if {[$target curstate] ne "halted"} {
        targets $target
        halt 0
        catch {wait_halt $ms}
        if {[$target curstate] ne "halted"} {
            set ::pmu_why 1
        }
    }
    return ""
}

# ---- trace: SWO, by the object that OpenOCD has for the TPIU, or by one that it gets here

proc pmu_trace_place {target} {
    set dap [pmu_dap_of $target]
    set ap [pmu_ap_of $target]
    if {$dap eq ""} {
        error "[$target cget -type] $target has no DAP"
    }
    # OpenOCD searches for the core's access port, and does not say which one it found: the first of AHB
    for {set n 0} {$ap < 0 && $n < 16} {incr n} {
        if {![catch {$dap apreg $n 0xfc} idr] && [lsearch {0x10001 0x10005 0x10008} [format 0x%x [expr {$idr & 0x1e00f}]]] >= 0} {
            set ap $n
        }
    }
    return [list $dap [expr {$ap < 0 ? 0 : $ap}]]
}

proc pmu_trace_object {target base} {
    lassign [pmu_trace_place $target] dap ap
    foreach name [tpiu names] {
        if {[$name cget -dap] eq $dap && [$name cget -ap-num] == $ap && [$name cget -baseaddr] == $base} {
            return $name
        }
    }
    set name "pmu_swo_[llength [tpiu names]]"
    tpiu create $name -dap $dap -ap-num $ap -baseaddr $base
    return $name
}

# What the object's events change by `mmw`, or by a chip's own with the target before the register, is put back with it
proc pmu_trace_modify {own words} {
    set target [expr {[llength $words] == 4 ? [lindex $words 0] : [target current]}]
    set address [lindex $words end-2]
    set noted [catch {$target read_memory $address 32 1} before]
    uplevel #0 [concat [list $own] $words]
    if {!$noted && ![catch {$target read_memory $address 32 1} after]} {
        set ::pmu_trace_changes [concat [list [list $target $address $before $after]] $::pmu_trace_changes]
    }
}

proc pmu_trace_run {command} {
    set names {}
    foreach name [info procs *mmw] {
        if {[llength [info args $name]] == 4 || $name eq "mmw" || [info args $name] eq "args"} {
            lappend names $name
            rename $name pmu_real_$name
            proc $name {args} "pmu_trace_modify pmu_real_$name \$args"
        }
    }
    set failed [catch {eval $command} words]
    foreach name $names {
        rename $name ""
        rename pmu_real_$name $name
    }
    if {$failed} {
        error $words
    }
}

proc pmu_trace_begin {} {
    lassign $::pmu_trace_call target base clock baud
    set name [pmu_trace_object $target $base]
    # One that is enabled cannot be configured
    if {[catch {$name configure -port-width [$name cget -port-width]}]} {
        foreach {option value} {-protocol uart -formatter 0} {
            if {[string map {off 0} [$name cget $option]] ne $value} {
                error "$name is enabled with $option [$name cget $option]: only $value serves here"
            }
        }
        if {[$name cget -output] eq "external"} {
            error "$name is enabled with -output external: so OpenOCD takes nothing in"
        }
        return "[$name cget -pin-freq] 1"
    }
    set before {}
    foreach option {-protocol -formatter -traceclk -pin-freq -output} {
        lappend before $option [$name cget $option]
    }
    set ::pmu_trace [list $name $before]
    $name configure -protocol uart -formatter 0 -traceclk $clock -pin-freq $baud -output -
    pmu_trace_run [list $name enable]
    return "[$name cget -pin-freq] 0"
}

# The answer: pmu BAUD FIXED, where 1 says that it is the user's; or 0 0 and why not
proc pmu_trace_start {unit base clock baud} {
    pmu_loud
    pmu_trace_stop
    set ::pmu_trace_call [list [lindex [target names] $unit] $base $clock $baud]
    set log [capture {set ::pmu_trace_failed [catch pmu_trace_begin ::pmu_trace_words]}]
    if {!$::pmu_trace_failed} {
        return [pmu_say "pmu $::pmu_trace_words"]
    }
    pmu_trace_stop
    set why [string trim "$::pmu_trace_words [string trim [string range $log 0 1000] " 01\n"]"]
    pmu_say "pmu 0 0 [string map [list [format %c 26] " "] $why]"
}

proc pmu_trace_stop {} {
    if {![info exists ::pmu_trace]} {
        return ""
    }
    lassign $::pmu_trace name before
    catch {$name disable}
    catch {eval [concat [list $name configure] $before]}
    # The last first. What was changed since then stays
    foreach change $::pmu_trace_changes {
        lassign $change target address value ours
        catch {
            if {[$target read_memory $address 32 1] == $ours} {
                $target write_memory $address 32 $value
            }
        }
    }
    set ::pmu_trace_changes {}
    unset ::pmu_trace
    return ""
}

# ---- for board files, before init

# A mem_ap target next to a core reaches memory and debug registers without the core
proc pmu_mem_ap {core {ap ""}} {
    if {$ap eq ""} {
        set ap [$core cget -ap-num]
    }
    target create $core.mem mem_ap -dap [$core cget -dap] -ap-num $ap
    targets $core
}

array set ::pmu_via {}
array set ::pmu_path {}
array set ::pmu_apb {}
set ::pmu_said {0 {}}
set ::pmu_seen 0
set ::pmu_lapsed 0
set ::pmu_session 0
set ::pmu_taken -1
set ::pmu_stood {}
set ::pmu_sockets {}
set ::pmu_halted {}
set ::pmu_met ""
set ::pmu_own 0
set ::pmu_resuming 0
array set ::pmu_touched {}
if {![info exists ::pmu_trace_changes]} {
    set ::pmu_trace_changes {}
}
if {![info exists ::pmu_aliases]} {
    set ::pmu_aliases 0
}
if {![info exists ::pmu_loudness]} {
    set ::pmu_loudness ""
}
