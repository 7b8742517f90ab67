/* A free engine: it answers every search at once with the move of a fixed game, and records the times of its input and
   output.

   free_engine GAME FOLDER [LINES [MS [DEAF]]]: GAME is a text of moves, alternately of White and Black. LINES is the
   number of info lines per move (default 1). With MS, it thinks for MS to MS + 1 milliseconds (uniformly distributed)
   and sends the info lines during this time. With DEAF, it ignores `quit`, the end of its input and SIGTERM.
   For every search, it writes a record of five int64 to a file of this process in FOLDER: ply, time of `go`, time of
   the answer (both CLOCK_MONOTONIC in ns), CPU time so far in ns, and the mover's clock in ms from `go`. The file is
   mapped, so that a record needs no system call and survives a SIGKILL. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PLIES = 1 << 15, MOST_MOVES = 1024, BUFFER = 1 << 16, MOST_LINES = 200, LINE = 160,
       SPREAD = 618034 /* ns, golden section of 1 ms, whose multiples modulo 1 ms are evenly distributed */ };

static char moves[MOST_MOVES][8];
static int known, plies, lines = 1, deaf;
static int64_t think; /* ns */
static int64_t (*records)[5];

static int64_t ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void say(const char *text) {
  if (write(1, text, strlen(text)) < 0) exit(1);
}

static void position(const char *line) {
  const char *at = strstr(line, " moves ");
  plies = 0;
  for (at = at ? at + 6 : ""; (at = strchr(at, ' ')); at++) plies += at[1] > ' ';
}

static void rest_until(int64_t due) {
  struct timespec at = {due / 1000000000, due % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL)) {}
}

static void answer(const char *line, int64_t heard) {
  static int64_t count;
  static char text[(MOST_LINES + 1) * LINE];
  char *end = text;
  if (plies >= known) {
    say("bestmove 0000\n");
    return;
  }
  int64_t long_ns = think ? think + count * SPREAD % 1000000 : 0;
  for (int at = 0; at < lines; at++) {
    end += snprintf(end, LINE, "info depth %d seldepth 12 score cp 13 nodes 12345 nps 1000000 time 1 pv %s\n", 9 + at,
                    moves[plies]);
    if (think) {
      rest_until(heard + long_ns * (at + 1) / (lines + 1));
      say(end = text);
    }
  }
  if (think) rest_until(heard + long_ns);
  snprintf(end, LINE, "bestmove %s\n", moves[plies]);
  if (count < MOST_PLIES) {
    int64_t *record = records[count++];
    const char *clock = strstr(line, plies % 2 ? " btime " : " wtime ");
    record[0] = plies;
    record[4] = clock ? atoll(clock + 7) : 0;
    record[3] = ns(CLOCK_PROCESS_CPUTIME_ID);
    record[1] = heard;
    record[2] = ns(CLOCK_MONOTONIC);
  }
  say(text);
}

static int obey(const char *line, int64_t heard) {
  if (!strncmp(line, "position", 8)) position(line);
  else if (!strncmp(line, "go", 2)) answer(line, heard);
  else if (!strcmp(line, "isready")) say("readyok\n");
  else if (!strcmp(line, "uci")) say("id name Free\nid author the tests\nuciok\n");
  return deaf || strcmp(line, "quit");
}

int main(int count, char **words) {
  static char buffer[BUFFER + 1], path[4096];
  size_t held = 0;
  FILE *game = count >= 3 ? fopen(words[1], "r") : NULL;
  if (!game) return 2;
  if (count > 3) lines = atoi(words[3]);
  if (lines < 1 || lines > MOST_LINES) return 2;
  if (count > 4) think = atoll(words[4]) * 1000000;
  if ((deaf = count > 5)) signal(SIGTERM, SIG_IGN);
  while (known < MOST_MOVES && fscanf(game, "%7s", moves[known]) == 1) known++;
  snprintf(path, sizeof path, "%s/%d-%lld.stamps", words[2], getpid(), (long long)ns(CLOCK_MONOTONIC));
  int file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (file < 0 || ftruncate(file, (off_t)MOST_PLIES * sizeof *records)) return 3;
  records = mmap(NULL, MOST_PLIES * sizeof *records, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (records == MAP_FAILED) return 3;
  for (;;) {
    ssize_t got = read(0, buffer + held, BUFFER - held);
    while (got <= 0 && deaf) pause();
    if (got <= 0) return 0;
    int64_t heard = ns(CLOCK_MONOTONIC);
    held += (size_t)got;
    char *start = buffer, *end;
    while ((end = memchr(start, '\n', held - (size_t)(start - buffer)))) {
      *end = 0;
      if (end > start && end[-1] == '\r') end[-1] = 0;
      if (!obey(start, heard)) return 0;
      start = end + 1;
    }
    held -= (size_t)(start - buffer);
    memmove(buffer, start, held);
  }
}
