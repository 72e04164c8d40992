/* SPDX-License-Identifier: MIT */
/*
 * cmocka.h - the part of cmocka that our tests use, for targets that have no cmocka (scripts/platform). One file and no
 * library: a test program is one translation unit besides the helpers, and the helpers call only what is static here.
 */
#ifndef VG_TEST_PLATFORM_CMOCKA_H
#define VG_TEST_PLATFORM_CMOCKA_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*CMUnitTestFunction)(void **state);
typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
    const char *name;
    CMUnitTestFunction test_func;
    CMFixtureFunction setup_func;
    CMFixtureFunction teardown_func;
};

#define cmocka_unit_test(f)                          ((struct CMUnitTest){#f, f, NULL, NULL})
#define cmocka_unit_test_setup(f, setup)             ((struct CMUnitTest){#f, f, setup, NULL})
#define cmocka_unit_test_setup_teardown(f, set, end) ((struct CMUnitTest){#f, f, set, end})

static jmp_buf vg_platform_end;
static int vg_platform_failures;
enum {
    VG_PLATFORM_FAILED = 1,
    VG_PLATFORM_SKIPPED = 2
};

static inline _Noreturn void vg_platform_fail(const char *what, const char *file, int line)
{
    (void)fprintf(stderr, "%s:%d: %s\n", file, line, what);
    longjmp(vg_platform_end, VG_PLATFORM_FAILED);
}

#define vg_platform_check(condition, what) ((condition) ? (void)0 : vg_platform_fail(what, __FILE__, __LINE__))
#define assert_true(c)                     vg_platform_check((c), "is not true: " #c)
#define assert_false(c)                    vg_platform_check(!(c), "is not false: " #c)
#define assert_null(p)                     vg_platform_check((p) == NULL, "is not NULL: " #p)
#define assert_non_null(p)                 vg_platform_check((p) != NULL, "is NULL: " #p)
#define assert_int_equal(a, b)             vg_platform_check((long long)(a) == (long long)(b), #a " is not " #b)
#define assert_int_not_equal(a, b)         vg_platform_check((long long)(a) != (long long)(b), #a " is " #b)
#define assert_ptr_equal(a, b)             vg_platform_check((const void *)(a) == (const void *)(b), #a " is not " #b)
#define assert_ptr_not_equal(a, b)         vg_platform_check((const void *)(a) != (const void *)(b), #a " is " #b)
#define assert_string_equal(a, b)          vg_platform_check(strcmp((a), (b)) == 0, #a " is not the string " #b)
#define assert_string_not_equal(a, b)      vg_platform_check(strcmp((a), (b)) != 0, #a " is the string " #b)
#define assert_memory_equal(a, b, n)       vg_platform_check(memcmp((a), (b), (n)) == 0, #a " has not the bytes of " #b)
#define assert_in_range(v, least, most)                                          \
    vg_platform_check((unsigned long long)(v) >= (unsigned long long)(least) &&  \
                          (unsigned long long)(v) <= (unsigned long long)(most), \
                      #v " is out of range")
#define fail()             vg_platform_fail("this must not be reached", __FILE__, __LINE__)
#define fail_msg(...)      ((void)fprintf(stderr, __VA_ARGS__), vg_platform_fail("see above", __FILE__, __LINE__))
#define skip()             longjmp(vg_platform_end, VG_PLATFORM_SKIPPED)
#define print_message(...) ((void)printf(__VA_ARGS__))

static __attribute__((noinline, unused)) int vg_platform_one(const struct CMUnitTest *one, void *state)
{
    int how = setjmp(vg_platform_end);
    if (how != 0)
        return how;
    if (one->setup_func != NULL && one->setup_func(&state) != 0)
        vg_platform_fail("the setup failed", __FILE__, __LINE__);
    one->test_func(&state);
    if (one->teardown_func != NULL && one->teardown_func(&state) != 0)
        vg_platform_fail("the teardown failed", __FILE__, __LINE__);
    return 0;
}

static inline int vg_platform_run(const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
                                  CMFixtureFunction teardown)
{
    static void *group;
    if (setup != NULL && setup(&group) != 0)
        return 1;
    for (size_t i = 0; i < count; i++) {
        (void)printf("[ RUN      ] %s\n", tests[i].name);
        (void)fflush(stdout);
        int how = vg_platform_one(&tests[i], group);
        vg_platform_failures += how == VG_PLATFORM_FAILED;
        (void)printf("[ %8s ] %s\n",
                     how == 0                     ? "OK"
                     : how == VG_PLATFORM_SKIPPED ? "SKIPPED"
                                                  : "FAILED",
                     tests[i].name);
    }
    if (teardown != NULL && teardown(&group) != 0)
        return 1;
    return vg_platform_failures;
}

#define cmocka_run_group_tests(tests, setup, teardown) \
    vg_platform_run((tests), sizeof(tests) / sizeof((tests)[0]), setup, teardown)

#endif
