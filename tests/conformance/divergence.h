// The shapes of control flow in which collectives are tested. DIVERGE(SHAPE, V, SITE) runs SITE(k) at the
// k-th site of the shape; `V` is the thread's control value. Included by kernels; divergence_model.h says which
// threads are active at which site.
#define DIVERGE(SHAPE, V, SITE)                                                                              \
    if (SHAPE == 0) {                                                                                        \
        SITE(0);                                                                                             \
    } else if (SHAPE == 1) { /* if and else */                                                               \
        if (V & 1) {                                                                                         \
            SITE(0);                                                                                         \
        } else {                                                                                             \
            SITE(1);                                                                                         \
        }                                                                                                    \
        SITE(2);                                                                                             \
    } else if (SHAPE == 2) { /* nested */                                                                    \
        if (V & 1) {                                                                                         \
            SITE(0);                                                                                         \
            if (V & 2) {                                                                                     \
                SITE(1);                                                                                     \
            } else {                                                                                         \
                SITE(2);                                                                                     \
            }                                                                                                \
        }                                                                                                    \
        SITE(3);                                                                                             \
    } else if (SHAPE == 3) { /* trip counts that differ */                                                   \
        for (uint round = 0; round < V % 6; round++) {                                                       \
            SITE(round);                                                                                     \
        }                                                                                                    \
        SITE(5);                                                                                             \
    } else if (SHAPE == 4) { /* early return */                                                              \
        if (V % 3 == 0) return;                                                                              \
        SITE(0);                                                                                             \
    } else if (SHAPE == 5) { /* continue and break */                                                        \
        for (uint round = 0; round < 4; round++) {                                                           \
            if ((V + round) % 3 == 0) continue;                                                              \
            if (V % 7 == round) break;                                                                       \
            SITE(round);                                                                                     \
        }                                                                                                    \
        SITE(4);                                                                                             \
    } else if (SHAPE == 6) { /* switch */                                                                    \
        switch (V % 4) {                                                                                     \
            case 0: SITE(0); break;                                                                          \
            case 1: SITE(1); break;                                                                          \
            case 2: SITE(2); break;                                                                          \
        }                                                                                                    \
        SITE(3);                                                                                             \
    } else if (SHAPE == 7) { /* loop in a loop */                                                            \
        for (uint round = 0; round < V % 3; round++)                                                         \
            for (uint inner = 0; inner < (V + round) % 4; inner++) {                                         \
                SITE(3 * round + inner);                                                                     \
            }                                                                                                \
        SITE(6);                                                                                             \
    } else if (SHAPE == 8) { /* return out of a loop */                                                      \
        for (uint round = 0; round < 3; round++) {                                                           \
            if (V % 5 == round) return;                                                                      \
            SITE(round);                                                                                     \
        }                                                                                                    \
    } else { /* do while */                                                                                  \
        uint round = 0;                                                                                      \
        do {                                                                                                 \
            SITE(round);                                                                                     \
        } while (++round < V % 4);                                                                           \
    }
