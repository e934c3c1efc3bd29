import com.fasterxml.jackson.databind.*;
import java.io.*;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.function.*;
import java.util.stream.*;

/**
 * What all Java targets share: the agent's end of the command protocol (docs/protocol.md), and AG-UI events as JSON. Knows no
 * framework and mends nothing: an event is said where an adapter shows it, and what a run throws ends that run. stdout is the
 * protocol's, all else that is printed goes to stderr.
 */
final class AgentSide {
    static final ObjectMapper JSON = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
    private static final PrintStream OUT = System.out;
    private static JsonNode running;

    static { System.setOut(System.err); }

    /** How a run ended. */
    record Outcome(String kind, String reason, String text) {}

    /** How a run ended whose last reply has this text and this finish reason, in OpenAI's words. */
    static Outcome outcome(String reason, String text) {
        return new Outcome(Map.of("length", "truncated", "content_filter", "filtered").getOrDefault(reason + "", "answered"), reason, text);
    }

    /** One conversation. `run` shows events, from any thread, and gives the outcome or throws. */
    interface Session {
        Outcome run(JsonNode given, Consumer<Map<String, Object>> show) throws Throwable;
    }

    /** A tool raised. `rejected`: it refused its arguments and did nothing. */
    static final class ToolFailed extends RuntimeException {
        final boolean rejected;
        ToolFailed(JsonNode error) {
            super(error.path("type").asText() + ": " + error.path("message").asText());
            rejected = error.path("rejected").asBoolean();
        }
    }

    /** Speak the protocol until the kit says bye or is gone. `open` opens a session with its first run. */
    static void serve(String name, String version, Map<String, Object> declared, Function<JsonNode, Session> open) throws IOException {
        var sessions = new HashMap<String, Session>();
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            var given = JSON.readTree(line);
            var type = given.path("type").asText();
            if (type.equals("bye")) break;
            if (type.equals("run")) play(given, sessions, open);
            if (type.equals("hello")) {
                var ready = map("type", "ready", "protocol", 1, "agent", map("name", name, "version", version, "language", "java"));
                ready.putAll(declared);
                say(null, ready);
            }
        }
        // Threads that a framework keeps are nobody's to wait for.
        System.exit(0);
    }

    private static void play(JsonNode given, Map<String, Session> sessions, Function<JsonNode, Session> open) {
        var run = given.path("run").asText();
        running = given;
        Map<String, Object> end;
        try {
            var session = sessions.computeIfAbsent(given.path("session").asText(), name -> open.apply(given));
            var outcome = session.run(given, event -> say(given, map("type", "event", "run", run, "event", event)));
            end = map("type", "result", "run", run, "outcome", map("kind", outcome.kind, "reason", outcome.reason), "text", outcome.text);
        } catch (Throwable thrown) {
            end = map("type", "error", "run", run, "exception", thrown.getClass().getSimpleName(), "message", "" + thrown.getMessage());
        }
        say(given, end);
    }

    /** Of a run that has ended nothing more can be said: a framework's thread may be at work still. */
    private static synchronized void say(JsonNode given, Map<String, Object> message) {
        if (given != running) return;
        OUT.writeBytes((JSON.valueToTree(message) + "\n").getBytes(StandardCharsets.UTF_8));
        OUT.flush();
        if (!"event".equals(message.get("type"))) running = null;
    }

    /** Run one of the scenario's tools; ToolFailed where it raises or refuses its arguments. */
    static JsonNode callTool(JsonNode given, String name, Object arguments, String callId) {
        try {
            var place = URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
            var request = (HttpURLConnection) URI.create(given.path("tools_url").asText() + "/" + place).toURL().openConnection();
            var body = JSON.writeValueAsBytes(arguments);
            request.setDoOutput(true);
            // Of a body whose length is fixed no second request is made behind our back.
            request.setFixedLengthStreamingMode(body.length);
            request.setRequestProperty("Content-Type", "application/json");
            // A header is bytes, and this client takes a character for each; the newer one takes ASCII only.
            var id = new String(String.valueOf(callId).getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
            if (callId != null && !callId.isEmpty()) request.setRequestProperty("X-Tool-Call-Id", id);
            request.getOutputStream().write(body);
            if (request.getResponseCode() == 200) return JSON.readTree(request.getInputStream()).path("result");
            throw new ToolFailed(JSON.readTree(request.getErrorStream()).path("error"));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** The system text that a run brings, or null. */
    static String system(JsonNode given) {
        var texts = messages(given, true).stream().map(message -> message.path("content").asText()).toList();
        return texts.isEmpty() ? null : String.join("\n\n", texts);
    }

    /** The messages that a run brings: system texts, or the other ones, of which the last is the user's new one. */
    static List<JsonNode> messages(JsonNode given, boolean system) {
        var messages = StreamSupport.stream(given.at("/input/messages").spliterator(), false);
        return messages.filter(message -> message.path("role").asText().equals("system") == system).toList();
    }

    /** A map from keys and values by turns; values may be null. */
    static Map<String, Object> map(Object... pairs) {
        var made = new LinkedHashMap<String, Object>();
        for (int i = 0; i < pairs.length; i += 2) made.put((String) pairs[i], pairs[i + 1]);
        return made;
    }

    /** A text as it is, anything else as JSON. */
    static String asText(JsonNode value) {
        return value.isTextual() ? value.textValue() : value.toString();
    }

    /**
     * What a run shows, as AG-UI events. A reply comes whole or piece by piece: a bracket opens with the first piece for its key and is
     * open until the reply is over.
     */
    static final class Shown {
        private final Map<Object, Map<String, Object>> open = new LinkedHashMap<>();
        private final JsonNode given;
        private final Consumer<Map<String, Object>> show;
        private int replies;

        Shown(JsonNode given, Consumer<Map<String, Object>> show) {
            this.given = given;
            this.show = show;
        }

        /** The run begins. */
        void started() {
            show.accept(map("type", "RUN_STARTED", "threadId", given.at("/input/threadId"), "runId", given.path("run")));
        }

        /** The run is over; its tokens are given where the framework counts them over the run, else null. */
        void finished(Number input, Number output) {
            var end = map("type", "RUN_FINISHED", "threadId", given.at("/input/threadId"), "runId", given.path("run"));
            if (input != null) end.put("usage", List.of(map("inputTokens", input, "outputTokens", output)));
            show.accept(end);
        }

        void text(String delta) {
            text(given.path("run").asText() + "-" + replies, delta, "TEXT_MESSAGE", "assistant");
        }

        void thinking(String delta) {
            text(given.path("run").asText() + "-thinking-" + replies, delta, "REASONING_MESSAGE", "reasoning");
        }

        private void text(String key, String delta, String bracket, String role) {
            if (delta == null || delta.isEmpty()) return;
            if (open.putIfAbsent(key, map("type", bracket + "_END", "messageId", key)) == null)
                show.accept(map("type", bracket + "_START", "messageId", key, "role", role));
            show.accept(map("type", bracket + "_CONTENT", "messageId", key, "delta", delta));
        }

        /** A piece of a call. A call that has no id or no name yet cannot be shown. */
        void call(Object key, String id, String name, String delta) {
            if (!open.containsKey(key) && id != null && name != null) {
                open.put(key, map("type", "TOOL_CALL_END", "toolCallId", id));
                show.accept(map("type", "TOOL_CALL_START", "toolCallId", id, "toolCallName", name));
            }
            if (open.containsKey(key) && delta != null && !delta.isEmpty())
                show.accept(map("type", "TOOL_CALL_ARGS", "toolCallId", open.get(key).get("toolCallId"), "delta", delta));
        }

        /** A whole call; nothing where it came in pieces. */
        void whole(String id, String name, String arguments) {
            if (open.values().stream().anyMatch(end -> Objects.equals(end.get("toolCallId"), id))) return;
            call("whole", id, name, arguments);
            Stream.ofNullable(open.remove("whole")).forEach(show);
        }

        /** What a call gave back, in the words that the model gets; of a call without an id it cannot be shown. */
        void result(String id, String content) {
            if (id != null) show.accept(map("type", "TOOL_CALL_RESULT", "messageId", id + "-result", "toolCallId", id, "content", content));
        }

        /** The reply is over. */
        void end() {
            open.values().forEach(show);
            open.clear();
            replies += 1;
        }
    }
}
