#include "commands/options.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char file_name[] = "pmu-probe.conf";

/* ---- where it is, and whose */

/* False: there is none. A folder that is named relative to the current one is nobody's own. */
static bool name_own(char *out, size_t size)
{
    const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int used = -1;
    if (folder != NULL && folder[0] == '/')
        used = snprintf(out, size, "%s/pmu-probe/%s", folder, file_name);
    else if (home != NULL && home[0] == '/')
        used = snprintf(out, size, "%s/.config/pmu-probe/%s", home, file_name);
    return used > 0 && (size_t)used < size;
}

/* With sudo it may be of the user who typed that. */
static bool is_of_user(uid_t owner)
{
    uint64_t user;
    const char *before = getenv("SUDO_UID");
    if (owner == geteuid() || owner == 0)
        return true;
    return geteuid() == 0 && before != NULL && value_count(before, UINT32_MAX, &user) && owner == user;
}

/* Judges what was opened: nobody can change it in between, and a symbolic link is as good as its file. */
static bool conf_judge(const struct conf *conf, const struct stat *status, bool trusted, struct error *error)
{
    if (!S_ISREG(status->st_mode))
        return error_set(error, ERROR_USAGE, "%s is not a plain file", conf->name);
    if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return error_advise(error, ERROR_USAGE, "Read what it says, then: chmod go-w FILE",
                            "%s is not read, because %s may write it", conf->name,
                            (status->st_mode & S_IWOTH) != 0 ? "everybody" : "its group");
    return trusted || is_of_user(status->st_uid) ||
           error_advise(
               error, ERROR_USAGE, "If you trust that user, add --trust-conf; or make a copy that is yours.",
               "%s is not read, because it belongs to user %lu", conf->name, (unsigned long)status->st_uid);
}

static bool conf_is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* ---- what it says */

enum { LARGEST = 65536, MADE = 65536 };

/* After the text there is room for values that are longer than what it says. */
static bool conf_read_text(struct conf *conf, int fd, struct error *error)
{
    conf->text = conf->rest = calloc(1, LARGEST + 2 + MADE);
    size_t length = 0;
    ssize_t n = conf->text != NULL ? 1 : -1;
    while (n > 0 && length <= LARGEST) {
        n = read(fd, conf->text + length, LARGEST + 1 - length);
        length += n > 0 ? (size_t)n : 0;
    }
    if (n < 0)
        return error_set(error, ERROR_USAGE, "%s cannot be read", conf->name);
    if (length > LARGEST)
        return error_set(error, ERROR_USAGE, "%s is larger than 64 KiB", conf->name);
    return memchr(conf->text, '\0', length) == NULL ||
           error_set(error, ERROR_USAGE, "%s is not text: it has a zero byte", conf->name);
}

/* As git searches for its folder: here, then in each folder above, up to the user's home or to the root of
 * the file system. -1 with errno. */
static int open_upwards(struct conf *conf)
{
    enum { HIGHEST = 32 };
    const char *at = getenv("HOME");
    struct stat home, here, above;
    bool has_home = at != NULL && stat(at, &home) == 0;
    for (unsigned up = 0; up <= HIGHEST; up++) {
        snprintf(conf->name, sizeof conf->name, "%s%s", conf->folder, file_name);
        int fd = open(conf->name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd >= 0 || (errno != ENOENT && errno != ENOTDIR && (up == 0 || errno != EACCES)))
            return fd;
        bool ends = up == HIGHEST || stat(up == 0 ? "." : conf->folder, &here) != 0 ||
                    (has_home && conf_is_same(&here, &home));
        strcat(conf->folder, "../");
        if (ends || stat(conf->folder, &above) != 0 || above.st_dev != here.st_dev ||
            conf_is_same(&above, &here))
            break;
    }
    errno = ENOENT;
    return -1;
}

bool conf_open(struct conf *conf, enum conf_which which, bool trusted, struct error *error)
{
    *conf = (struct conf){.is_own = which == CONF_OWN};
    if (conf->is_own && !name_own(conf->name, sizeof conf->name))
        return true;
    int fd =
        conf->is_own ? open(conf->name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : open_upwards(conf);
    /* The folders of a home may be closed to a user who is not at home there */
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || (conf->is_own && errno == EACCES)))
        return true;
    if (fd < 0)
        return error_set(error, ERROR_USAGE, "%s: %s", conf->name, strerror(errno));
    struct stat status, own;
    bool ok = fstat(fd, &status) == 0 && conf_judge(conf, &status, trusted, error) &&
              conf_read_text(conf, fd, error);
    close(fd);
    char path[sizeof conf->name];
    if (ok && !conf->is_own && name_own(path, sizeof path) && stat(path, &own) == 0)
        conf->is_own = conf_is_same(&own, &status);
    return ok || error_set(error, ERROR_USAGE, "%s cannot be read", conf->name);
}

/* Keeps a value that the text does not have as it is. */
static bool conf_make(struct conf *conf, const char *head, const char *tail, char **out, struct error *error)
{
    size_t before = strlen(head), after = strlen(tail) + 1;
    if (before + after > MADE - conf->made)
        return error_set(error, ERROR_USAGE, "too many names of files");
    *out = conf->text + LARGEST + 2 + conf->made;
    memcpy(*out, head, before);
    memcpy(*out + before, tail, after);
    conf->made += before + after;
    return true;
}

bool conf_beside(struct conf *conf, bool if_there, char **name, struct error *error)
{
    size_t made = conf->made;
    char *joined;
    if (conf->folder[0] == '\0' || **name == '/' || **name == '\0')
        return true;
    if (!conf_make(conf, conf->folder, *name, &joined, error))
        return false;
    if (if_there && access(joined, F_OK) != 0)
        conf->made = made;
    else
        *name = joined;
    return true;
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* Ends the text where a comment begins: at a # after a blank. */
static void cut_comment(char *text)
{
    for (char *at = text; (at = strchr(at, '#')) != NULL; at++)
        if (at == text || isspace((unsigned char)at[-1])) {
            *at = '\0';
            return;
        }
}

/* Quotes keep all that is between them; ~ is the home of the user otherwise. */
static bool conf_read_value(struct conf *conf, char *text, char **out, struct error *error)
{
    const char *home = getenv("HOME");
    text = trim(text);
    *out = text;
    if (*text == '"' || *text == '\'') {
        char *end = strchr(text + 1, *text), *after = end != NULL ? trim(end + 1) : NULL;
        if (end == NULL || (*after != '\0' && *after != '#'))
            return error_set(error, ERROR_USAGE, "%s",
                             end == NULL ? "a quote is not closed" : "there is more after the closing quote");
        *end = '\0';
        *out = text + 1;
        return true;
    }
    cut_comment(text);
    *out = trim(text);
    bool of_home = text[0] == '~' && (text[1] == '/' || text[1] == '\0') && home != NULL;
    return !of_home || conf_make(conf, home, text + 1, out, error);
}

bool conf_next(struct conf *conf, char **key, char **value, struct error *error)
{
    while (conf->rest != NULL) {
        char *line = conf->rest;
        conf->rest = strchr(line, '\n');
        if (conf->rest != NULL)
            *conf->rest++ = '\0';
        conf->line++;
        line = trim(line);
        char *equals = strchr(line, '=');
        if (equals != NULL)
            *equals = '\0';
        size_t length = strlen(line);
        cut_comment(line);
        bool has_value = equals != NULL && strlen(line) == length;
        *key = trim(line);
        if (**key == '\0' && !has_value)
            continue;
        *value = NULL;
        return !has_value || conf_read_value(conf, equals + 1, value, error);
    }
    return false;
}
