/* The clock of a virtual machine that jumps. Every process of the machine preloads this, in front of
   libfaketime, which lets the clock run fast.

   The seconds by which the clock has been put forward so far stand in a file that all processes have
   mapped ($ONEGA_CLOCK). So a jump is one store, which all see at once, and a look at the clock costs
   one addition more than on a steady clock. Sleeps that have begun don't notice a jump. Below are the
   calls by which Slurm, bash and date learn the time, or wait for an instant of it. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Look up, once, the function of this name that would have been called without this library. */
#define FIND(next, name) \
  if (!next) next = (__typeof__(next))dlsym(RTLD_NEXT, name)

static const volatile int64_t none;
static const volatile int64_t *jumped = &none;

/* The environment comes as an argument, as bash has a getenv of its own. */
__attribute__((constructor)) static void map_clock(int count, char **words, char **environment) {
  (void)count, (void)words;
  for (; *environment; environment++)
    if (!strncmp(*environment, "ONEGA_CLOCK=", 12)) {
      int file = open(*environment + 12, O_RDONLY | O_CLOEXEC);
      void *page = mmap(NULL, sizeof *jumped, PROT_READ, MAP_SHARED, file, 0);
      if (page == MAP_FAILED) abort(); /* better no process than one with a clock of its own */
      close(file);
      jumped = page;
    }
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  static int (*next)(struct timeval *, void *);
  FIND(next, "gettimeofday");
  int failed = next(now, zone);
  if (!failed) now->tv_sec += *jumped;
  return failed;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*next)(clockid_t, struct timespec *);
  FIND(next, "clock_gettime");
  int failed = next(clock, now);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *jumped;
  return failed;
}

time_t time(time_t *result) {
  static time_t (*next)(time_t *);
  FIND(next, "time");
  time_t now = next(NULL) + *jumped;
  if (result) *result = now;
  return now;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
  static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  FIND(next, "pthread_cond_timedwait");
  struct timespec unjumped = {until->tv_sec - *jumped, until->tv_nsec};
  return next(condition, mutex, &unjumped);
}
