/* edges.h — the register of memory edges.
 *
 * Every ordered hand-over between threads has one name here, and every operation stronger than relaxed
 * carries that name. The left side publishes and the right side observes. The sentence states what the edge
 * guarantees. Each header repeats its own edges.
 */
#ifndef ODI_BASE_EDGES_H
#define ODI_BASE_EDGES_H

#define ODI_EDGES(X)                                                                      \
    /* queue/deque */                                                                     \
    X(D1, "push -> take, steal: bottom says the entry's words are readable")              \
    X(D2, "grow, shrink -> steal: the ring's pointer says its slots are readable")        \
    X(D3, "take, steal -> push: top says the slots below it may be written again")        \
    X(D4, "take <-> steal: one winner per index")                                         \
    X(D6, "take_wanted <-> steal: the lower bottom is seen, or how far a thief reaches")   \
    /* queue/injector */                                                                  \
    X(J1, "push -> claim: a slot's code word says its context is readable")               \
    X(J2, "install -> push, claim: the directory's pointer says the block is zeroed")     \
    X(J4, "claim -> recycle: the last reader of a block sees every other reader done")    \
    X(J5, "recycle -> install: nobody reads the block through the directory any more")    \
    X(J6, "push -> claim: tail says that the directory names the block")                  \
    /* observe */                                                                         \
    X(V1, "write -> copy: head says that an event's words are readable")                  \
    X(V2, "overwrite -> copy: who meets a later event's word meets the head before it")   \
    X(V3, "write -> read: an even sequence says that the page's words are readable")      \
    X(V4, "overwrite -> read: who meets a later word of a page meets the odd sequence")   \
    /* reclaim */                                                                         \
    X(R1, "retire -> reclaimer: the object's fields are readable")                        \
    X(R3, "retire <-> reclaimer's leaving: a thread is started or the object is seen")    \
    X(R4, "reclaimer -> drain: the count of batches says that one is freed")              \
    X(R5, "reclaimer -> drain: the empty list says that what was retired is freed")       \
    /* sleep */                                                                           \
    X(S1, "publish <-> announce: the submitter sees the sleeper, or it sees the work")    \
    X(S2, "publish <-> give back the search: the token is seen out, or the work is seen") \
    X(S3, "signal -> leave: what the signaller wrote is readable by the woken")          \
    X(S4, "publish <-> attention: the submitter sees the flag, or its setter the work")   \
    X(K1, "unlock -> lock: what the section before wrote is readable")                    \
    X(K2, "unlock <-> going to sleep: the mark is seen, or that the lock is free")       \
    /* timer */                                                                           \
    X(T1, "arm <-> keep, stand by: who arms sees the sleep's end, or the sleeper the timer") \
    /* job */                                                                             \
    X(L1, "complete -> wait: what the bodies wrote is readable by who waited")            \
    X(L2, "count <-> flag: the submitter sees the flag, or its setter the count")         \
    X(L3, "start <-> cancel: the starter sees the flag, or the canceller the start")      \
    X(L4, "start, end -> pending, cancel: a job held is begun, a word gone is told")      \
    X(L5, "create -> count: whoever counts on a record reads its fields")                 \
    X(L6, "create -> submit: the queue's word says that the record is readable")          \
    X(L7, "create -> submit: the group's word says that the record is readable")          \
    X(L8, "disband -> reap: a record without its group is its queue's alone")             \
    X(L10, "release -> wait: what was done before is readable by who is let go")          \
    X(L11, "close -> reserve: what a run does on a count behind the close is not seen before") \
    X(M1, "signal -> wait: what the signaller wrote is readable by who got the permit")   \
    X(M2, "grant -> wait: what the signaller wrote is readable by who slept for it")      \
    /* worker */                                                                          \
    X(W1, "change -> steal: the table's workers are readable")                            \
    X(W2, "job <-> report: a worker's count of jobs, and that one is running")            \
    X(W3, "join -> ask: a slot's worker is readable")                                     \
    X(W4, "enter -> steal: an external thread's place is readable")                       \
    X(W5, "call back -> bench: why the worker is to get up")                              \
    X(W6, "stop -> stop: an earlier deadline is readable")                                \
    X(W7, "stolen fork -> report: a worker's count of stolen forks")                      \
    /* worker/forks */                                                                    \
    X(F1, "fork -> steal: head says that the slot's words are readable")                  \
    X(F2, "fork, pop <-> claim, want: the owner sees the limit, or they see its head")    \
    X(F3, "migrate -> owner: the limit says that the word is the owner's again")          \
    X(F4, "thief <-> joiner: what the branch wrote, and who sleeps for it")               \
    X(F5, "ring -> joiner: why it was woken")                                             \
    X(F6, "leave -> enter: an external thread's place is free")                           \
    X(F7, "hold back <-> leave, sleep: who makes room sees the note, or its writer the room") \
    X(F8, "expose -> steal: split says that the slot's words are readable")               \
    X(F9, "note -> steal: the count says that the notes are readable")                    \
    X(F10, "thief -> joiner: who runs the slot")                                          \
    /* pool, line */                                                                      \
    X(P1, "create -> fork: the default pool is readable")                                 \
    X(P2, "stop -> stop: the report is readable by who asks for it again")                \
    X(P3, "arm, stop -> monitor: why it is woken")                                        \
    X(T2, "call -> cancel, over: what a timer's calls wrote is readable by who ends it")   \
    X(T3, "release -> free: the last reference to a timer sees all uses")                  \
    X(Q5, "adopt -> context: what the queue's user keeps with it is readable")            \
    X(Q1, "grant -> go on: what ran before in the line is readable by the sync caller")  \
    X(Q2, "push -> settle: what a submitter looked at before is not what this leads to") \
    X(Q3, "claim <-> take back: who takes back sees the claim, or the owner the call")

enum {
    ODI_EDGE_none,
#define ODI_EDGE_NAME(edge, meaning) ODI_EDGE_##edge,
    ODI_EDGES(ODI_EDGE_NAME)
#undef ODI_EDGE_NAME
};

#endif
