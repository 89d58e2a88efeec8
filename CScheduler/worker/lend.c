#include "worker/lend.h"

#include "worker/worker.h"

static odi_lock loans_lock;
static odi_loan *loans;
static uint32_t times_forked; /* a loan of before is the parent's */

void odi_loan_name(odi_loan *loan, odi_crew *crew, uint32_t band)
{
    uint32_t i = 0;

    if (band <= loan->band)
        return;
    while (i < loan->count && loan->of[i].crew != crew)
        i++;
    if (i == ODI_LOAN_CREWS)
        return;
    loan->count += i == loan->count;
    loan->of[i].crew = crew;
    loan->of[i].bands |= 1u << band;
}

/* What each band is served as, in four bits: one more than the highest it is lent, or 0. Lock
 * held. */
static void tell_workers(odi_crew *crew)
{
    uint32_t lent = 0;

    for (uint32_t band = 0; band < ODI_BANDS; band++) {
        uint32_t as = 0;

        while (as < band && crew->loans[band][as] == 0)
            as++;
        lent |= as < band ? (as + 1) << (4 * band) : 0;
    }
    odi_store_relaxed(&crew->lent, lent); /* relaxed: a hint */
}

/* Workers with work of another band look farther only where several bands are hinted at. (Where
 * forks are used a hint for nothing would keep idle workers from hunting them, for a moment.) */
static void hint(odi_crew *crew, uint32_t bands)
{
    /* relaxed, all: hints */
    bool forks_used = odi_load_relaxed(&crew->forks_used);

    for (int i = 0; i < crew->site_count; i++) {
        uint32_t present = odi_load_relaxed(&crew->sites[i].bands);

        if ((present != 0 || !forks_used) && (present & bands) != bands)
            odi_or_relaxed(&crew->sites[i].bands, bands);
    }
}

/* Lock held. */
static void count_bands(const odi_loan *loan, uint32_t change)
{
    for (uint32_t i = 0; i < loan->count; i++) {
        odi_crew *crew = loan->of[i].crew;

        if (crew == NULL)
            continue;
        for (uint32_t bands = loan->of[i].bands; bands != 0; bands &= bands - 1)
            crew->loans[__builtin_ctz(bands)][loan->band] += change;
        tell_workers(crew);
        odi_and_relaxed(&crew->asides, ~1u); /* relaxed: a hint. It has come, if it was woken. */
        if (change == 1)
            hint(crew, loan->of[i].bands);
    }
}

void odi_loan_begin(odi_loan *loan)
{
    if (loan->count == 0)
        return;
    odi_lock_acquire(&loans_lock);
    loan->forks = times_forked;
    loan->before = NULL;
    loan->after = loans;
    if (loans != NULL)
        loans->before = loan;
    loans = loan;
    count_bands(loan, 1);
    odi_lock_release(&loans_lock);
}

void odi_loan_end(odi_loan *loan)
{
    if (loan->count == 0)
        return;
    odi_lock_acquire(&loans_lock);
    if (loan->forks == times_forked) {
        if (loan->before != NULL)
            loan->before->after = loan->after;
        else
            loans = loan->after;
        if (loan->after != NULL)
            loan->after->before = loan->before;
        count_bands(loan, (uint32_t)-1);
    }
    odi_lock_release(&loans_lock);
    *loan = odi_loan_of(loan->band);
}

void odi_loans_forget(odi_crew *crew)
{
    odi_lock_acquire(&loans_lock);
    for (odi_loan *loan = loans; loan != NULL; loan = loan->after) {
        for (uint32_t i = 0; i < loan->count; i++) {
            if (loan->of[i].crew == crew)
                loan->of[i].crew = NULL;
        }
    }
    odi_lock_release(&loans_lock);
}

void odi_loans_forked(void)
{
    loans_lock = (odi_lock){0};
    loans = NULL;
    times_forked++;
}
