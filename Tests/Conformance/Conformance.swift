import Testing

/// What programs rely on when they use queues, groups, semaphores, work items and timers: each scenario runs on
/// libdispatch with Foundation, and on ours.
///
/// - SeeAlso: docs/differences.md, the table of what differs on purpose.
@Suite(.serialized, .ownThread, .timeLimit(.minutes(10)))
struct Conformance {}
