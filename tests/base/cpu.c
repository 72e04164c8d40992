/* SPDX-License-Identifier: MIT */
#include "alone.h"

#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vigil/pool.h>

#include "base/cpu.h"

/* ---- a fake machine: files below a folder of its own ------------------------------------------------------------------- */

static char root[] = "/tmp/vigil-cpu-XXXXXX";

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

static int begin(void **state)
{
    (void)state;
    memcpy(root + sizeof root - 7, "XXXXXX", 6);
    return mkdtemp(root) == NULL;
}

static int end(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put_bytes(const char *path, const void *bytes, size_t count)
{
    char name[8192];
    int length = snprintf(name, sizeof name, "%s%s", root, path);
    assert_in_range(length, 1, sizeof name - 1);
    for (char *slash = name + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(name, 0700); /* it may be there already */
        *slash = '/';
    }
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void put(const char *path, const char *text)
{
    put_bytes(path, text, strlen(text));
}

static void put_v2(const char *group)
{
    put("/proc/self/mountinfo", "22 1 0:20 / /sys rw shared:2 - sysfs sysfs rw\n"
                                "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
    put("/proc/self/cgroup", group);
}

/* ---- version 2 ------------------------------------------------------------------------------------------------------------ */

static void without_any_file_there_is_no_limit(void **state)
{
    (void)state;
    assert_int_equal(vg_cpu_quota_at(root), VG_CPU_NO_LIMIT);
    assert_int_equal(vg_cpu_online_at(root), VG_CPU_NO_LIMIT);
    assert_true(vg_cpu_count_at(root) >= 1);
}

static void a_quota_is_rounded_up(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned cpus;
    } cases[] = {
        {"100000 100000\n", 1}, {"150000 100000\n", 2}, {"200000 100000\n", 2}, {"1000 100000\n", 1},
        {"250000 50000", 5},    {"1 1000000\n", 1},     {"100001 100000\n", 2},
    };
    put_v2("0::/job\n");
    for (unsigned i = 0; i < count_of(cases); i++) {
        put("/sys/fs/cgroup/job/cpu.max", cases[i].text);
        assert_int_equal(vg_cpu_quota_at(root), cases[i].cpus);
    }
}

static void what_is_not_a_quota_sets_no_limit(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "max 100000\n",
        "max\n",
        "",
        "\n",
        "100000\n",
        "100000 \n",
        "100000 0\n",
        "0 100000\n",
        "0 0\n",
        "-1 100000\n",
        "100000 -100000\n",
        "+5 100000\n",
        " 100000 100000\n",
        "100000  100000",
        "x y\n",
        "1e5 100000\n",
        "100000 100000 x\n",
        "100000 100000x\n",
        "0x10 10\n",
        "100000\t100000\n",
        "100000100000",
        "18446744073709551616 1\n",
        "18446744073709551615 1\n",
        "1 18446744073709551616\n",
        "99999999999999999999999999999999999999999999999999999999999999999999 100000\n",
    };
    put_v2("0::/job\n");
    for (unsigned i = 0; i < count_of(texts); i++) {
        put("/sys/fs/cgroup/job/cpu.max", texts[i]);
        assert_int_equal(vg_cpu_quota_at(root), VG_CPU_NO_LIMIT);
    }
    put_bytes("/sys/fs/cgroup/job/cpu.max", "\0\0\0", 3);
    assert_int_equal(vg_cpu_quota_at(root), VG_CPU_NO_LIMIT);
}

static void the_least_quota_of_all_groups_above_counts(void **state)
{
    (void)state;
    put_v2("0::/slice/box/job\n");
    put("/sys/fs/cgroup/slice/box/job/cpu.max", "800000 100000\n");
    assert_int_equal(vg_cpu_quota_at(root), 8);
    put("/sys/fs/cgroup/slice/cpu.max", "300000 100000\n");
    assert_int_equal(vg_cpu_quota_at(root), 3);
    put("/sys/fs/cgroup/slice/box/cpu.max", "max 100000\n");
    assert_int_equal(vg_cpu_quota_at(root), 3);
    put("/sys/fs/cgroup/slice/box/cpu.max", "500000 100000\n");
    assert_int_equal(vg_cpu_quota_at(root), 3);
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    assert_int_equal(vg_cpu_quota_at(root), 2);
    put("/sys/fs/cgroup/slice/box/job/other/cpu.max", "100000 100000\n"); /* below us: not ours */
    put("/sys/fs/cgroup/slice/other/cpu.max", "100000 100000\n");         /* beside us */
    assert_int_equal(vg_cpu_quota_at(root), 2);
}

static void our_group_may_be_the_root_of_the_mount(void **state)
{
    (void)state;
    put_v2("0::/\n");
    put("/sys/fs/cgroup/cpu.max", "300000 100000\n");
    assert_int_equal(vg_cpu_quota_at(root), 3);
}

static void a_container_sees_its_own_group_as_the_mount_point(void **state)
{
    (void)state;
    put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
    put("/sys/fs/cgroup/job/cpu.max", "200000 100000\n");
    /* mounted from the group /box/one, and our group is below that */
    put("/proc/self/mountinfo", "30 22 0:26 /box/one /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    put("/proc/self/cgroup", "0::/box/one/job\n");
    assert_int_equal(vg_cpu_quota_at(root), 2);
    put("/proc/self/cgroup", "0::/box/one\n");
    assert_int_equal(vg_cpu_quota_at(root), 4);
    /* not below it: the mount point is the best we know */
    put("/proc/self/cgroup", "0::/box/onemore/job\n");
    assert_int_equal(vg_cpu_quota_at(root), 4);
    put("/proc/self/cgroup", "0::/../elsewhere/job\n");
    assert_int_equal(vg_cpu_quota_at(root), 4);
    put("/proc/self/mountinfo", "30 22 0:26 /../.. /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    put("/proc/self/cgroup", "0::/\n");
    assert_int_equal(vg_cpu_quota_at(root), 4);
}

static void blanks_in_a_mount_point_are_decoded(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", "30 22 0:26 / /my\\040groups\\134 rw - cgroup2 cgroup rw\n");
    put("/proc/self/cgroup", "0::/a\n");
    put("/my groups\\/a/cpu.max", "600000 100000\n");
    assert_int_equal(vg_cpu_quota_at(root), 6);
}

/* ---- version 1, and both ---------------------------------------------------------------------------------------------- */

static void version_one_is_read_where_its_cpu_controller_is_mounted(void **state)
{
    (void)state;
    put("/proc/self/mountinfo",
        "31 22 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "32 22 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 master:3 - cgroup cgroup rw,cpu,cpuacct\n");
    put("/proc/self/cgroup", "5:cpuset:/decoy\n4:cpu,cpuacct:/docker/box\n1:name=systemd:/x\n");
    put("/sys/fs/cgroup/cpuset/decoy/cpu.cfs_quota_us", "100000\n");
    put("/sys/fs/cgroup/cpuset/decoy/cpu.cfs_period_us", "100000\n");
    assert_int_equal(vg_cpu_quota_at(root), VG_CPU_NO_LIMIT);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/box/cpu.cfs_quota_us", "350000\n");
    assert_int_equal(vg_cpu_quota_at(root), VG_CPU_NO_LIMIT); /* no period, no limit */
    put("/sys/fs/cgroup/cpu,cpuacct/docker/box/cpu.cfs_period_us", "100000\n");
    assert_int_equal(vg_cpu_quota_at(root), 4);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "150000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
    assert_int_equal(vg_cpu_quota_at(root), 2);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(vg_cpu_quota_at(root), 4);
}

static void where_both_versions_are_mounted_the_lesser_counts(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", "31 22 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
                                "32 22 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
    put("/proc/self/cgroup", "4:cpu:/one\n0::/two\n");
    put("/sys/fs/cgroup/cpu/one/cpu.cfs_quota_us", "500000\n");
    put("/sys/fs/cgroup/cpu/one/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/unified/two/cpu.max", "700000 100000\n");
    assert_int_equal(vg_cpu_quota_at(root), 5);
    put("/sys/fs/cgroup/unified/two/cpu.max", "300000 100000\n");
    assert_int_equal(vg_cpu_quota_at(root), 3);
}

/* ---- the other parts ---------------------------------------------------------------------------------------------------- */

static void the_list_of_online_cpus_is_counted(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned cpus;
    } cases[] = {
        {"0\n", 1},          {"0-3\n", 4},
        {"0-3,7\n", 5},      {"0,2,4-5", 4},
        {"5-5\n", 1},        {"0-1023\n", 1024},
        {"\n", UINT_MAX},    {"", UINT_MAX},
        {"a", UINT_MAX},     {"3-0\n", UINT_MAX},
        {"0-\n", UINT_MAX},  {"0,\n", UINT_MAX},
        {"-3\n", UINT_MAX},  {"0-99999999999999999999\n", UINT_MAX},
        {"0 1\n", UINT_MAX}, {"0-4294967295\n", UINT_MAX},
    };
    for (unsigned i = 0; i < count_of(cases); i++) {
        put("/sys/devices/system/cpu/online", cases[i].text);
        assert_int_equal(vg_cpu_online_at(root), cases[i].cpus);
    }
}

static void the_count_is_the_least_of_all(void **state)
{
    (void)state;
    cpu_set_t allowed;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    unsigned mask = (unsigned)CPU_COUNT(&allowed);
    put("/sys/devices/system/cpu/online", "0-4095\n");
    assert_int_equal(vg_cpu_count_at(root), mask);
    put_v2("0::/job\n");
    put("/sys/fs/cgroup/job/cpu.max", "100000000 100000\n");
    assert_int_equal(vg_cpu_count_at(root), mask);
    put("/sys/fs/cgroup/job/cpu.max", "1000 100000\n");
    assert_int_equal(vg_cpu_count_at(root), 1);
    put("/sys/fs/cgroup/job/cpu.max", "max 100000\n");
    put("/sys/devices/system/cpu/online", "0\n");
    assert_int_equal(vg_cpu_count_at(root), 1);
}

static void the_real_count_follows_the_affinity_mask_and_leaves_errno_alone(void **state)
{
    (void)state;
    cpu_set_t before;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    errno = 12345;
    unsigned count = vigil_cpu_count();
    assert_int_equal(errno, 12345);
    assert_in_range(count, 1, CPU_COUNT(&before));
    cpu_set_t one;
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &before)) {
            CPU_SET(i, &one);
            break;
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(vigil_cpu_count(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(vigil_cpu_count(), count);
}

/* ---- nonsense ------------------------------------------------------------------------------------------------------------- */

static void odd_lines_are_passed_over(void **state)
{
    (void)state;
    put("/sys/fs/cgroup/job/cpu.max", "300000 100000\n");
    put("/proc/self/mountinfo", "\n \n-\n - \n - cgroup2\n30 22 0:26 / /x rw - cgroup2\n30 22 0:26\n"
                                "30 22 0:26 / /sys/fs/cgroup rw cgroup2 cgroup2 rw\n"
                                "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"); /* this one is whole */
    put("/proc/self/cgroup", "\n:\n::\n0\n0:\n0:cpu\n7:cpu:/job\n0::/job");
    assert_int_equal(vg_cpu_quota_at(root), 3);
}

static void paths_that_are_too_long_are_passed_over(void **state)
{
    (void)state;
    static char line[3 * PATH_MAX];
    int length = snprintf(line, sizeof line, "0::/");
    memset(line + length, 'g', sizeof line - (size_t)length - 1);
    put_v2(line);
    put("/sys/fs/cgroup/cpu.max", "300000 100000\n");
    assert_int_equal(vg_cpu_quota_at(root), VG_CPU_NO_LIMIT);
    /* as long as fits, so that only the file's name is too much */
    line[PATH_MAX - 20] = '\0';
    put_v2(line);
    assert_int_equal(vg_cpu_quota_at(root), 3);
}

static void random_bytes_crash_nothing(void **state)
{
    (void)state;
    static const char words[] = "0123456789 -,:/\n\n\\cpumax cgroup2 cgroup - / 0:: \\040 cpu,cpuacct";
    uint64_t random = 7;
    uint64_t rounds = scaled(2000, 200);
    for (uint64_t i = 0; i < rounds; i++) {
        char text[400];
        static const char *const paths[] = {"/proc/self/mountinfo", "/proc/self/cgroup", "/sys/fs/cgroup/cpu.max",
                                            "/sys/devices/system/cpu/online"};
        if (i % 16 == 0) {
            put_v2("0::/\n"); /* so that the other files are reached */
        }
        for (size_t k = 0; k < sizeof text; k++) {
            uint64_t dice = random_next(&random) >> 40;
            text[k] = dice % 16 == 0 ? (char)(dice >> 8) : words[dice / 16 % (sizeof words - 1)];
        }
        put_bytes(paths[random_next(&random) % count_of(paths)], text, random_next(&random) % sizeof text);
        assert_true(vg_cpu_count_at(root) >= 1);
        assert_true(vg_cpu_quota_at(root) >= 1);
    }
}

#define test(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(without_any_file_there_is_no_limit),
        test(a_quota_is_rounded_up),
        test(what_is_not_a_quota_sets_no_limit),
        test(the_least_quota_of_all_groups_above_counts),
        test(our_group_may_be_the_root_of_the_mount),
        test(a_container_sees_its_own_group_as_the_mount_point),
        test(blanks_in_a_mount_point_are_decoded),
        test(version_one_is_read_where_its_cpu_controller_is_mounted),
        test(where_both_versions_are_mounted_the_lesser_counts),
        test(the_list_of_online_cpus_is_counted),
        test(the_count_is_the_least_of_all),
        test(the_real_count_follows_the_affinity_mask_and_leaves_errno_alone),
        test(odd_lines_are_passed_over),
        test(paths_that_are_too_long_are_passed_over),
        test(random_bytes_crash_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
