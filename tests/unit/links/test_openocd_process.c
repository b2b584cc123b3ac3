/* An OpenOCD that we start, by scripts in its place: what is read of it, and its end. */
#include "../test.h"

#include "links/openocd_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned naps;

static void openocd_process_nap(uint64_t us)
{
    (void)us;
    naps++;
}

TEST_TIME(NULL, openocd_process_nap)

static struct openocd_process *start_script(const char *text, struct error *error)
{
    char path[] = "/tmp/pmu-openocd-XXXXXX";
    struct deadline deadline = deadline_in_ms(60000, NULL);
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fchmod(fd, 0700) == 0);
    close(fd);
    struct openocd_process *process = openocd_process_start(path, NULL, 0, NULL, &deadline, error);
    unlink(path);
    return process;
}

TEST(one_that_has_ended_is_not_waited_for)
{
    struct error error = {0};
    siginfo_t end;
    struct openocd_process *process =
        start_script("#!/bin/sh\necho 'Info : Listening on port 6667 for tcl connections'\n", &error);
    assert_string_equal(error.text, "");
    assert_int_equal(openocd_process_port(process), 6667);
    assert_int_equal(waitid(P_PID, (id_t)openocd_process_pid(process), &end, WEXITED | WNOWAIT), 0);
    naps = 0;
    openocd_process_stop(process, true);
    assert_int_equal(naps, 0);
}

TEST(what_is_no_tcl_port_is_none)
{
    static const char *const scripts[] = {
        "#!/bin/sh\necho 'Info : Listening on port 6667 for telnet connections'\n",
        "#!/bin/sh\necho 'Info : Listening on port 0 for tcl connections'\n",
        "#!/bin/sh\necho 'Info : Listening on port 65536 for tcl connections'\n",
        "#!/bin/sh\necho 'Error: no port'\n"};
    for (size_t i = 0; i < COUNT(scripts); i++) {
        struct error error = {0};
        assert_null(start_script(scripts[i], &error));
        assert_error(&error, ERROR_SERVER, i == 3 ? "no port" : "OpenOCD could not start");
    }
}
