/*
 * A real OpenOCD (its Tcl interpreter, its server, its log) without an adapter: the commands that would
 * touch a target are replaced by Tcl that plays one and notes what was asked of it.
 */
#pragma once

#include "base/socket.h"
#include "links/openocd.h"
#include "links/openocd_process.h"
#include "links/openocd_tcl.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * Memory reads as its own address until it is written. 0x400...: refused. 0x480...: no answer in time.
 * 0x500...: counts reads. 0x600...: takes 30 ms. 0x700...: waits until the file that `hold` names is gone.
 */
static const char fake_tcl[] =
    "noinit\n"
    "set asked {}; set counter 0; set polling on; set hold {}\n"
    "array set mem {}\n"
    "array set state {one.cpu running two.cpu running two.mem unknown three.cpu halted}\n"
    "array set type {one.cpu cortex_m two.cpu cortex_m two.mem mem_ap three.cpu cortex_a}\n"
    "array set daps {two.cpu tap.b two.mem tap.b three.cpu tap.a}\n"
    "proc command {args} { return exec }\n"
    "proc target {what} {\n"
    "  if {$what eq {current}} { return $::current }\n"
    "  return {one.cpu two.cpu two.mem three.cpu}\n"
    "}\n"
    "proc dap {what} { return {tap.a tap.b} }\n"
    "set current one.cpu\n"
    "proc targets {name} { set ::current $name; lappend ::asked \"select $name\" }\n"
    "proc poll {{how {}}} {\n"
    "  lappend ::asked [string trim \"poll $how\"]\n"
    "  if {$how eq {}} { return \"background polling: $::polling\\nTAP: x (enabled)\" }\n"
    "  set ::polling $how; return {}\n"
    "}\n"
    "proc halt {how} { lappend ::asked \"halt $::current\" }\n"
    "proc wait_halt {ms} { if {$::current ne {two.cpu}} { set ::state($::current) halted } }\n"
    "proc resume {} { lappend ::asked \"resume $::current\"; set ::state($::current) running }\n"
    "proc fake_read {address bits} {\n"
    "  set top [expr {($address >> 24) & 0xff}]\n"
    "  if {$top == 0x40} { echo {Failed to read memory}; error {read_memory: failed to read memory} }\n"
    "  if {$top == 0x48} { echo {Timeout during WAIT recovery}; error {read_memory: failed} }\n"
    "  if {$top == 0x50} { return [format 0x%x [incr ::counter]] }\n"
    "  if {$top == 0x60} { sleep 30 busy }\n"
    "  if {$top == 0x70} { for {set n 0} {[file exists $::hold] && $n < 1000} {incr n} { sleep 20 busy } }\n"
    "  if {[info exists ::mem($address)]} { return $::mem($address) }\n"
    "  return [format 0x%lx [expr {$bits == 64 ? $address : $address & ((1 << $bits) - 1)}]]\n"
    "}\n"
    "proc fake {name what args} {\n"
    "  lassign $args address bits third\n"
    "  switch $what {\n"
    "    read_memory {\n"
    "      lappend ::asked \"$name read [format 0x%x $address] $bits $third\"\n"
    "      set values {}\n"
    "      for {set i 0} {$i < $third} {incr i} {\n"
    "        lappend values [fake_read [format 0x%lx [expr {$address + $i * $bits / 8}]] $bits]\n"
    "      }\n"
    "      return $values\n"
    "    }\n"
    "    write_memory {\n"
    "      lappend ::asked \"$name write [format 0x%x $address] $bits $third\"\n"
    "      if {$address >> 24 == 0x40} { error {write_memory: failed to write memory} }\n"
    "      set ::mem([format 0x%lx $address]) $third\n"
    "    }\n"
    "    curstate { return $::state($name) }\n"
    "    arp_poll { lappend ::asked \"poll $name\" }\n"
    "    cget {\n"
    "      if {$address eq {-type}} { return $::type($name) }\n"
    "      if {![info exists ::daps($name)]} { error {no DAP} }\n"
    "      if {$address eq {-dap}} { return $::daps($name) }\n"
    "      if {$name eq {three.cpu}} { error {AP number not configured} }\n"
    "      return 0\n"
    "    }\n"
    "  }\n"
    "}\n"
    "foreach name [target names] { proc $name {args} \"fake $name {*}\\$args\" }\n"
    /* AP 0 an AHB-AP, AP 1 an APB-AP with TAR, CSW and the data registers */
    "array set apreg {0,0xfc 0x24770011 1,0xfc 0x44770002 1,0 0xa2000052 1,4 0}\n"
    "proc tap {name what args} {\n"
    "  lappend ::asked \"$name $what $args\"\n"
    "  if {$what eq {dpreg}} { if {[llength $args] == 1} { return \"0x2ba01477\\n\" } else { return {} } }\n"
    "  lassign $args ap register value\n"
    "  if {$register >= 0x0c && $register <= 0x1c} {\n"
    "    set address [expr {$register == 0x0c ? $::apreg(1,4) : $::apreg(1,4) + ($register & 0xc)}]\n"
    "    set word [format 0x%lx [expr {$address & ~3}]]\n"
    "    if {[llength $args] == 3} { set ::mem($word) $value; return {} }\n"
    "    return \"[fake_read $word 32]\\n\"\n"
    "  }\n"
    "  set key $ap,[expr {$register == 0xfc ? {0xfc} : $register + 0}]\n"
    "  if {[llength $args] == 3} { set ::apreg($key) $value; return {} }\n"
    "  if {![info exists ::apreg($key)]} { return \"0x00000000\\n\" }\n"
    "  return \"$::apreg($key)\\n\"\n"
    "}\n"
    "foreach name [dap names] { proc $name {args} \"tap $name {*}\\$args\" }\n";

struct fake {
    struct openocd_process *process;
    struct openocd_rpc rpc; /* a second connection, to read what the link does not show */
    struct link *link;
    struct error error;
};

static inline struct deadline in_ms(int64_t ms)
{
    return deadline_in_ms(ms, NULL);
}

/* What a Tcl command returns. */
static inline const char *fake_eval(struct fake *fake, const char *tcl)
{
    struct deadline deadline = in_ms(10000);
    const char *answer = NULL;
    size_t length = 0;
    assert_int_equal(openocd_rpc_send(&fake->rpc, tcl, strlen(tcl), &deadline), OPENOCD_ANSWERED);
    assert_int_equal(openocd_rpc_send(&fake->rpc, "\x1a", 1, &deadline), OPENOCD_ANSWERED);
    assert_int_equal(openocd_rpc_receive(&fake->rpc, 1 << 20, &deadline, &answer, &length), OPENOCD_ANSWERED);
    return answer;
}

static inline void fake_start(struct fake *fake, const char *tcl)
{
    const char *options[] = {"-c", tcl};
    struct deadline deadline = in_ms(20000);
    memset(fake, 0, sizeof *fake);
    fake->process = openocd_process_start(NULL, options, 2, NULL, &deadline, &fake->error);
    if (fake->process == NULL)
        fail_msg("%s", fake->error.text);
    uint16_t port = openocd_process_port(fake->process);
    fake->rpc.fd = socket_connect("localhost", port, &deadline, &fake->error);
    assert_true(fake->rpc.fd >= 0);
    fake->link = openocd_connect("localhost", port, NULL, &deadline, &fake->error);
    if (fake->link == NULL)
        fail_msg("%s", fake->error.text);
}

/* On a busy machine a list may need several calls. */
static inline struct outcome fake_run(struct fake *fake, const struct step *steps, size_t n,
                                      uint64_t *results)
{
    size_t done = 0;
    for (;;) {
        struct deadline deadline = in_ms(10000);
        struct outcome outcome =
            link_execute(fake->link, steps + done, n - done, results + done, &deadline, &fake->error);
        done += outcome.done;
        if (outcome.why != NOT_YET || outcome.saw != 0 || outcome.done == 0) {
            outcome.done = done;
            return outcome;
        }
    }
}

static inline void fake_stop(struct fake *fake)
{
    link_close(fake->link);
    openocd_rpc_close(&fake->rpc);
    openocd_process_stop(fake->process, false);
}

/* --- one for a file of tests ---------------------------------------------------------------------------- */

static struct fake fake;

static int setup(void **state)
{
    (void)state;
    fake_start(&fake, fake_tcl);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fake_stop(&fake);
    return 0;
}

/* Each test begins with nothing asked, nothing written and no error. */
static void clean(void)
{
    fake_eval(&fake, "set asked {}; set counter 0; set current one.cpu; array unset mem; array set mem {}");
    error_clear(&fake.error);
}

#define CLEAN_TEST(name) TEST_BETWEEN(name, clean, test_nothing)
