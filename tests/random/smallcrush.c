/* smallcrush ORDER: TestU01's SmallCrush on the words of <tombac/random.h>.
 *   along   one stream, word after word
 *   across  the first four words of stream 0, of stream 1, ...: what the threads of a launch draw
 * Fails if a p-value lies outside [1e-10, 1 - 1e-10]; TestU01 itself calls values outside [0.001, 0.999]
 * suspect. */
#include <bbattery.h>
#include <unif01.h>

#include <stdio.h>
#include <string.h>
#include <tombac/random.h>

static random_stream stream;
static uint64_t number;

static unsigned int along(void)
{
    return random_uint(&stream);
}

static unsigned int across(void)
{
    if (stream.position == 4) stream = random_start(2026, ++number);
    return random_uint(&stream);
}

int main(int count, char **arguments)
{
    if (count != 2 || (strcmp(arguments[1], "along") != 0 && strcmp(arguments[1], "across") != 0)) return 2;
    char name[] = "tombac/random.h";
    stream = random_start(2026, 0);
    unif01_Gen *generator = unif01_CreateExternGenBits(name, arguments[1][1] == 'l' ? along : across);
    bbattery_SmallCrush(generator);
    int bad = bbattery_NTests < 10;
    for (int i = 0; i < bbattery_NTests; i++) {
        double p = bbattery_pVal[i];
        if (p >= 1e-10 && p <= 1 - 1e-10) continue;
        printf("failed: %s: p = %g\n", bbattery_TestNames[i], p);
        bad++;
    }
    unif01_DeleteExternGenBits(generator);
    return bad != 0;
}
