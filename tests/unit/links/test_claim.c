#include "links/claim.h"
#include "test.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static struct claim ours(void)
{
    struct claim claim;
    claim_make(&claim, "delta");
    return claim;
}

TEST(a_claim_survives_as_text)
{
    struct claim claim = ours(), read;
    char text[CLAIM_TEXT], again[CLAIM_TEXT];
    claim_write(&claim, text);
    assert_true(claim_read(text, &read));
    claim_write(&read, again);
    assert_string_equal(again, text);
    assert_null(strpbrk(text, "{}\\\"$[\n"));
}

TEST(what_is_no_claim)
{
    static const char *const texts[] = {"", "a", "host boot 12 34 14:02", "host boot x 34 14:02 delta",
                                        "host boot 12 34 14:02 delta more"};
    struct claim read;
    for (size_t i = 0; i < COUNT(texts); i++)
        assert_false(claim_read(texts[i], &read));
}

TEST(control_characters_in_a_claim_are_not_passed_on)
{
    struct claim read;
    struct error error = {0};
    assert_true(claim_read("ho\x1b[31mst boot 12 34 14:02 del\x07ta", &read));
    claim_refuse(&read, "openocd", &error);
    assert_string_equal(error.text,
                        "openocd is in use by pmu-probe del_ta, process 12 on ho__31mst, since 14:02");
}

static char kept[CLAIM_TEXT];

static bool keep(void *context, const char *mine, const char *dead, char found[CLAIM_TEXT],
                 struct error *error)
{
    (void)context;
    (void)error;
    if (kept[0] == '\0' || strcmp(kept, dead) == 0)
        snprintf(kept, sizeof kept, "%s", mine);
    snprintf(found, CLAIM_TEXT, "%s", kept);
    return true;
}

TEST(a_place_is_taken_from_the_dead_alone)
{
    const struct claim_place place = {.mark = keep};
    struct claim claim = ours(), other = claim;
    struct error error = {0};
    kept[0] = '\0';
    assert_true(claim_take(&claim, &place, "it", &error));
    other.started++;
    claim_write(&other, kept);
    assert_true(claim_take(&claim, &place, "it", &error));
    other = claim;
    other.process = UINT64_C(4194305) * 1000; /* beyond any process id */
    claim_write(&other, kept);
    assert_true(claim_take(&claim, &place, "it", &error));
    snprintf(other.boot, sizeof other.boot, "other-start");
    claim_write(&other, kept);
    assert_false(claim_take(&claim, &place, "it", &error));
    other = claim;
    other.started++;
    error_clear(&error);
    snprintf(other.host, sizeof other.host, "elsewhere");
    claim_write(&other, kept);
    assert_fails(claim_take(&claim, &place, "it", &error), &error, ERROR_IN_USE, "");
    claim.takes_over = true;
    assert_true(claim_take(&claim, &place, "it", &error));
    other = ours();
    snprintf(other.command, sizeof other.command, "survey"); /* this process, which lives */
    claim_write(&other, kept);
    assert_false(claim_take(&claim, &place, "it", &error));
    snprintf(kept, sizeof kept, "what is no claim");
    claim.takes_over = false;
    assert_true(claim_take(&claim, &place, "it", &error));
}

/* As with hidepid, where /proc does not show another user's process: here no file can be opened at all. */
TEST(a_live_process_that_proc_does_not_show_keeps_its_place)
{
    const struct claim_place place = {.mark = keep};
    struct claim claim = ours(), other = claim;
    struct error error = {0};
    struct rlimit files, none;
    other.process = (uint64_t)getppid();
    claim_write(&other, kept);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    none = files;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    bool taken = claim_take(&claim, &place, "it", &error);
    other.process = INT32_MAX; /* beyond any process id */
    claim_write(&other, kept);
    bool of_none = claim_take(&claim, &place, "it", &(struct error){0});
    setrlimit(RLIMIT_NOFILE, &files);
    assert_fails(taken, &error, ERROR_IN_USE, "it is in use by pmu-probe delta, process");
    assert_true(of_none);
}
