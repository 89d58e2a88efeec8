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
/// - Cost: Resolved, one load and no lock. To that the language adds, for an `@Inject` variable as for any, counting references
///   up and down; a constant `Injected` of a class has none of it, and one of a protocol none in ``withValue(_:)``. The
///   first use is ``ServiceLocator``'s.
@propertyWrapper
@safe public final class Inject<Value: Sendable>: @unchecked Sendable {
    /// What was resolved. It is read where it is: a copy would count a reference, which takes longer than all the rest.
    @usableFromInline
    final class Box {
        @usableFromInline let value: Value
        init(_ value: Value) { self.value = value }
    }

    /// The box, at +1 from when it is there; it never changes. A bare pointer, because `AtomicLazyReference` asks the
    /// runtime for its type at every look.
    @usableFromInline let box = unsafe Atomic<UnsafeRawPointer?>(nil)
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
    ///   - file: Who asks, for the sentence where there is no such service.
    ///   - line: Who asks, too.
    public init(
        _ type: Value.Type = Value.self, name: String? = nil, in locator: ServiceLocator = .shared,
        file: StaticString = #fileID, line: UInt = #line
    ) {
        (self.name, self.locator, self.file, self.line) = (name, locator, file, line)
    }

    /// The service.
    @inlinable
    public var wrappedValue: Value { withValue { $0 } }

    /// The service.
    @inlinable
    public var value: Value { withValue { $0 } }

    /// Does something with the service where it is: without a copy, which of an `any Mailer` takes longer than all the rest.
    ///
    ///     let mailer = Injected<any Mailer>()
    ///     mailer.withValue { $0.send(letter) }
    ///
    /// - Parameter body: What to do. The service is there for as long as it runs.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    /// - Threading: The calling thread runs `body`; many may at once.
    /// - Cost: Resolved, one load.
    @inlinable @inline(__always)
    public func withValue<R>(_ body: (Value) throws -> R) rethrows -> R {
        // The box is this wrapper's, which the compiler would let go of, and the box with it, before it looks into the box.
        defer { withExtendedLifetime(self) {} }
        return try unsafe resolved._withUnsafeGuaranteedRef { try body($0.value) }
    }

    // Inline: where Value is known, no type is asked of the runtime.
    @inlinable @inline(__always)
    var resolved: Unmanaged<Box> {
        // Acquires what the service was made of.
        if let box = unsafe box.load(ordering: .acquiring) { return unsafe .fromOpaque(box) }
        return unsafe resolve()
    }

    /// The service.
    @inlinable
    public func callAsFunction() -> Value { wrappedValue }

    /// The wrapper itself: `$mailer.isResolved`.
    public var projectedValue: Inject<Value> { self }

    /// Whether the service has been resolved.
    public var isResolved: Bool { unsafe box.load(ordering: .relaxed) != nil }  // relaxed: it is not looked at

    deinit {
        // Nobody else is here any more.
        if let box = unsafe box.load(ordering: .acquiring) { unsafe Unmanaged<Box>.fromOpaque(box).release() }
    }

    @usableFromInline
    @inline(never)
    func resolve() -> Unmanaged<Box> {
        let made = unsafe Unmanaged.passRetained(Box(locator.module(for: Value.self, name: name, file: file, line: line)))
        // Releases what the service is made of. Of several threads that were here at once one was first, and all go on with
        // what it has.
        let (isFirst, found) = unsafe box.compareExchange(
            expected: nil, desired: UnsafeRawPointer(made.toOpaque()), ordering: .acquiringAndReleasing)
        guard !isFirst, let found = unsafe found else { return unsafe made }
        unsafe made.release()
        return unsafe .fromOpaque(found)
    }
}

/// A service, found by its type when it is first used, as a constant: `let mailer = Injected<any Mailer>()`.
public typealias Injected = Inject
