#include "debuggers/gdb_session.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>

struct file {
    const char *name, *text;
};

static bool fetch(void *context, const char *name, const char **text, size_t *length, struct error *error)
{
    for (const struct file *file = context; file->name != NULL; file++)
        if (strcmp(file->name, name) == 0) {
            *text = file->text;
            *length = strlen(file->text);
            return true;
        }
    return error_set(error, ERROR_LINK_PROTOCOL, "no %s", name);
}

static struct gdb_features features;

static bool read_files(const struct file *files, struct error *error)
{
    const struct gdb_documents documents = {.context = (void *)files, .fetch = fetch};
    *error = (struct error){0};
    return gdb_features_read(&features, &documents, error);
}

static void must_refuse(const struct file *files, const char *words)
{
    struct error error;
    assert_fails(read_files(files, &error), &error, ERROR_LINK_PROTOCOL, words);
}

TEST(test_registers_across_includes)
{
    static const struct file files[] = {
        {"target.xml",
         "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target>"
         "<architecture> arm\n</architecture><xi:include href=\"m.xml\"/><xi:include href=\"s.xml\"/>"
         "</target>"},
        {"m.xml", "<feature name=\"org.gnu.gdb.arm.m-profile\"><reg name=\"r0\" bitsize=\"32\"/>"
                  "<reg name=\"pc\" bitsize=\"32\" regnum=\"15\"/><reg name=\"xpsr\" bitsize=\"32\" "
                  "regnum=\"25\"/></feature>"},
        {"s.xml", "<feature name=\"org.gnu.gdb.arm.m-system\"><reg name=\"psp\" bitsize=\"32\"/>"
                  "<reg name=\"d0\" bitsize=\"64\" regnum=\"3\"/></feature>"},
        {NULL, NULL}};
    struct error error;
    assert_true(read_files(files, &error));
    assert_string_equal(features.architecture, "arm");
    assert_true(features.m_profile);
    assert_int_equal(features.n, 5);
    assert_int_equal(gdb_features_find(&features, "PSP")->number,
                     26); /* one after the last, whatever document */
    assert_int_equal(gdb_features_find(&features, "r0")->offset, 0);
    assert_int_equal(gdb_features_find(&features, "d0")->offset, 4);
    assert_int_equal(gdb_features_find(&features, "pc")->offset, 12); /* in the order of their numbers */
    assert_int_equal(gdb_features_find(&features, "xpsr")->number, 25);
    assert_null(gdb_features_find(&features, "lr"));
}

TEST(test_a_server_without_description)
{
    gdb_features_assume_arm(&features);
    assert_int_equal(gdb_features_find(&features, "pc")->number, 15);
    assert_int_equal(gdb_features_find(&features, "sp")->offset, 52);
    assert_int_equal(gdb_features_find(&features, "xpsr")->number, 25);
}

TEST(test_includes_without_end)
{
    static const struct file itself[] = {{"target.xml", "<t><xi:include href=\"target.xml\"/></t>"},
                                         {NULL, NULL}};
    static const struct file circle[] = {{"target.xml", "<t><xi:include href=\"a\"/></t>"},
                                         {"a", "<t><xi:include href=\"b\"/></t>"},
                                         {"b", "<t><xi:include href=\"a\"/></t>"},
                                         {NULL, NULL}};
    static const struct file missing[] = {{"target.xml", "<t><xi:include href=\"a\"/></t>"}, {NULL, NULL}};
    must_refuse(itself, "includes itself");
    must_refuse(circle, "includes itself");
    must_refuse(missing, "no a");
}

/* Eight documents that each include the next many times: 2^n without a limit. */
TEST(test_includes_that_multiply)
{
    static const char *const names[] = {"target.xml", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    enum { N = COUNT(names) };
    struct file files[N + 1] = {{NULL, NULL}};
    char texts[N][256];
    for (size_t i = 0; i < N; i++) {
        const char *next = i + 1 < N ? names[i + 1] : "k";
        snprintf(texts[i], sizeof texts[i], "<t><xi:include href=\"%s\"/><xi:include href=\"%s\"/></t>", next,
                 next);
        files[i] = (struct file){names[i], texts[i]};
    }
    must_refuse(files, "includes too much"); /* too deep */
    files[7].text = "<t/>";
    must_refuse(files, "includes too much"); /* too many */
}

TEST(test_what_makes_no_sense)
{
    static const char *const registers[] = {"<t><reg bitsize=\"32\"/></t>",
                                            "<t><reg name=\"a\"/></t>",
                                            "<t><reg name=\"a\" bitsize=\"0\"/></t>",
                                            "<t><reg name=\"a\" bitsize=\"-1\"/></t>",
                                            "<t><reg name=\"a\" bitsize=\"99999999999999999999\"/></t>",
                                            "<t><reg name=\"a\" bitsize=\"32\" regnum=\"70000\"/></t>",
                                            "<t><reg name=\"a\" bitsize=\"32\" regnum=\"x\"/></t>"};
    static const struct file no_xml[] = {{"target.xml", "E01"}, {NULL, NULL}};
    static const struct file cut[] = {{"target.xml", "<t>"}, {NULL, NULL}};
    static const struct file entities[] = {
        {"target.xml", "<!DOCTYPE t [<!ENTITY a \"aaaaaaaaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]><t>&b;</t>"},
        {NULL, NULL}};
    for (size_t i = 0; i < COUNT(registers); i++)
        must_refuse((struct file[]){{"target.xml", registers[i]}, {NULL, NULL}}, "makes no sense");
    must_refuse(no_xml, "is not XML");
    must_refuse(cut, "is not XML");
    must_refuse(entities, "entities");
}

TEST(test_too_much)
{
    size_t size = GDB_XML_BYTES + 1024;
    char *text = malloc(size);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, "<t>");
    for (size_t i = 0; i <= GDB_REGISTERS; i++)
        used += (size_t)sprintf(text + used, "<reg name=\"r%zu\" bitsize=\"32\"/>", i);
    sprintf(text + used, "</t>");
    struct file files[] = {{"target.xml", text}, {NULL, NULL}};
    must_refuse(files, "too many registers");
    memset(text, ' ', size - 1);
    text[size - 1] = '\0';
    must_refuse(files, "too long");
    free(text);
}
