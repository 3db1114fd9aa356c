/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a fuzz target once on every file named, or found in a folder named, so that the corpus is an ordinary
 * test with any compiler. No file at all is a failure: a test that ran nothing must not pass. */
#include "fuzz.h"

#include <dirent.h>

static size_t replay_file(const char *path)
{
    static uint8_t data[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    /* a copy of the exact size lets the address sanitizer see a read past the end */
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact)
        return 0;
    for (size_t i = 0; i < size; ++i)
        exact[i] = data[i];
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 1;
}

static size_t replay(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        return replay_file(path);
    size_t count = 0;
    char name[4096];
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.' && snprintf(name, sizeof name, "%s/%s", path, entry->d_name) < (int)sizeof name)
            count += replay_file(name);
    closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    size_t count = 0;
    for (int i = 1; i < argc; ++i)
        count += replay(argv[i]);
    printf("%zu inputs replayed\n", count);
    return count == 0;
}
