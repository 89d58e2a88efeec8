/* targets.h — what is fed with hostile text, one function for each parser.
 *
 * A target may do what it likes with its bytes; it aborts when a promise of the parser does
 * not hold. fuzz.c runs one of them under libFuzzer, Tests/Engine/topology_corpus.c runs
 * all of them over the corpus.
 */
#ifndef FUZZ_TARGETS_H
#define FUZZ_TARGETS_H

typedef void (*fuzz_target)(const char *text);

typedef struct fuzz_entry {
    const char *name; /* also of the folder in Tests/Fuzz/corpus */
    fuzz_target run;
} fuzz_entry;

/* The last entry has no name. */
extern const fuzz_entry fuzz_targets[];

#endif
