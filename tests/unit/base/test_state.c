/* The state folder and its locks. */
#include "../test.h"

#include "base/state.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void use_folder(char folder[PATH_MAX])
{
    snprintf(folder, PATH_MAX, "/tmp/pmu-state-XXXXXX");
    assert_non_null(mkdtemp(folder));
    setenv("XDG_STATE_HOME", folder, 1);
}

static void remove_folder(const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/pmu-probe", folder);
    rmdir(path);
    assert_int_equal(rmdir(folder), 0); /* no lock is left in it */
}

TEST(a_lock_keeps_others_away_until_it_is_free)
{
    char folder[PATH_MAX], self[32];
    struct error error = {0};
    struct lock *first, *other;
    use_folder(folder);
    assert_true(lock_take("openocd a:1", &first, &error) && first != NULL);
    assert_string_equal(lock_left(first), "");
    assert_true(lock_take("openocd a:2", &other, &error) && other != NULL);
    lock_free(other);
    assert_false(lock_take("openocd a:1", &other, &error));
    assert_int_equal(error.kind, ERROR_IN_USE);
    snprintf(self, sizeof self, "process %ld", (long)getpid());
    assert_has(error.text, "openocd a:1 is in use by ");
    assert_has(error.text, self);
    assert_int_equal(error.holder, getpid());
    lock_free(first);
    assert_true(lock_take("openocd a:1", &first, &error) && first != NULL);
    lock_free(first);
    remove_folder(folder);
}

TEST(a_lock_keeps_its_note_after_a_crash)
{
    char folder[PATH_MAX];
    struct error error = {0};
    struct lock *lock;
    int status = 0;
    use_folder(folder);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!lock_take("probe", &lock, &error))
            _exit(1);
        lock_note(lock, "a longer note than the last");
        lock_note(lock, "power 0 0;");
        _exit(lock == NULL);
    }
    assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    for (int run = 0; run < 2; run++) { /* it stays until it is taken back */
        assert_true(lock_take("probe", &lock, &error) && lock != NULL);
        assert_string_equal(lock_left(lock), "power 0 0;");
        if (run == 1)
            lock_note(lock, "");
        lock_free(lock);
    }
    remove_folder(folder);
}

TEST(a_folder_that_others_may_write_is_refused)
{
    char folder[PATH_MAX], path[PATH_MAX];
    struct error error = {0};
    use_folder(folder);
    assert_true(state_folder(path, sizeof path, &error));
    chmod(path, 0777);
    assert_fails(state_folder(path, sizeof path, &error), &error, ERROR_SYSTEM, "");
    remove_folder(folder);
}
