/// Something that ends a process with a sentence: tests run it in one of its own.
package struct Scene: Sendable {
    package let name, sentence: String
    package let body: @Sendable () async -> Void

    package init(_ name: String, says sentence: String, _ body: @escaping @Sendable () async -> Void) {
        (self.name, self.sentence, self.body) = (name, sentence, body)
    }
}

extension [Scene] {
    package var names: [String] { map(\.name) }

    package func play(_ name: String) async {
        for scene in self where scene.name == name { await scene.body() }
    }

    package func sentence(of name: String) -> String? { first { $0.name == name }?.sentence }
}
