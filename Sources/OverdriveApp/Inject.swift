public import Synchronization

/// A service, found by its type when it is first used.
///
///     actor Mailroom {
///         @Inject var mailer: any Mailer
///         @Inject(name: "uploads") var folder: URL
///         func send(_ letter: Letter) { mailer.send(letter) }
///     }
///
/// In a plain Sendable class the language refuses a wrapper's variable: write `let mailer = Injected<any Mailer>()` there,
/// which works everywhere, and `mailer.value` or `mailer()`.
///
/// It keeps what it has resolved: a registration that comes later is seen by those who resolve later. A service that
/// nobody has registered, or that needs itself, ends the program with a sentence that names the type and who asked.
///
/// - Threading: Safe from any thread: all see the same instance.
/// - Cost: Resolved, one load and the service itself: no lock. The first use is ``ServiceLocator``'s.
@propertyWrapper
public final class Inject<Value: Sendable>: @unchecked Sendable {
    /// What was resolved. It is read where it is: a copy would count a reference, which takes longer than all the rest.
    @usableFromInline
    final class Box {
        @usableFromInline let value: Value
        init(_ value: Value) { self.value = value }
    }

    /// The box, at +1 from when it is there; it never changes. A bare pointer, because `AtomicLazyReference` asks the
    /// runtime for its type at every look.
    @usableFromInline let box = Atomic<UnsafeRawPointer?>(nil)
    private let locator: ServiceLocator
    private let name: String?
    private let file: StaticString
    private let line: UInt

    /// A service by its type.
    ///
    /// - Parameters:
    ///   - type: What it was registered for.
    ///   - name: What it was registered under.
    ///   - locator: Where it is looked for.
    public init(
        _ type: Value.Type = Value.self, name: String? = nil, in locator: ServiceLocator = .shared,
        file: StaticString = #fileID, line: UInt = #line
    ) {
        (self.name, self.locator, self.file, self.line) = (name, locator, file, line)
    }

    /// The service.
    @inlinable
    public var wrappedValue: Value {
        _read { yield resolved._withUnsafeGuaranteedRef { $0.value } }
    }

    /// The service.
    @inlinable
    public var value: Value {
        _read { yield resolved._withUnsafeGuaranteedRef { $0.value } }
    }

    // Inline: where Value is known, no type is asked of the runtime.
    @inlinable @inline(__always)
    var resolved: Unmanaged<Box> {
        // Acquires what the service was made of.
        if let box = box.load(ordering: .acquiring) { return .fromOpaque(box) }
        return resolve()
    }

    /// The service.
    @inlinable
    public func callAsFunction() -> Value { wrappedValue }

    /// The wrapper itself: `$mailer.isResolved`.
    public var projectedValue: Inject<Value> { self }

    /// Whether the service has been resolved.
    public var isResolved: Bool { box.load(ordering: .relaxed) != nil }  // relaxed: it is not looked at

    deinit {
        // Nobody else is here any more.
        if let box = box.load(ordering: .acquiring) { Unmanaged<Box>.fromOpaque(box).release() }
    }

    @usableFromInline
    @inline(never)
    func resolve() -> Unmanaged<Box> {
        let made = Unmanaged.passRetained(Box(locator.module(for: Value.self, name: name, file: file, line: line)))
        // Releases what the service is made of. Of several threads that were here at once one was first, and all go on with
        // what it has.
        let (isFirst, found) = box.compareExchange(
            expected: nil, desired: UnsafeRawPointer(made.toOpaque()), ordering: .acquiringAndReleasing)
        guard !isFirst, let found else { return made }
        made.release()
        return .fromOpaque(found)
    }
}

/// A service, found by its type when it is first used, as a constant: `let mailer = Injected<any Mailer>()`.
public typealias Injected = Inject
