import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import io.agentscope.core.ReActAgent;
import io.agentscope.core.agent.RuntimeContext;
import io.agentscope.core.event.*;
import io.agentscope.core.message.*;
import io.agentscope.core.model.ExecutionConfig;
import io.agentscope.core.state.InMemoryAgentStateStore;
import io.agentscope.core.tool.*;
import io.agentscope.extensions.model.openai.OpenAIChatModel;
import java.io.IOException;
import java.time.Duration;
import java.util.*;
import java.util.function.Consumer;
import reactor.core.publisher.Mono;

/**
 * AgentScope Java as an agent under test: `target:agentscope-java`. Drives `ReActAgent.streamEvents` over the OpenAI chat model, which
 * asks for whole replies or for streamed ones, and translates its events one by one. Repairs nothing: an exception ends the run.
 */
public final class Agent {
    // What differs from the recommended answers, each with where AgentScope says or does so. Paths are below io/agentscope/core/.
    private static final Map<String, Object> DIALECT = AgentSide.map(
        // ReActAgent.java, isFinished: a reply without calls is the end, whatever else it holds.
        "empty_response", "finish",
        // tool/ToolValidator.java: arguments are held against the schema, which forbids no others unless it says so.
        "extra_args", "pass",
        // ReActAgent.java: what the model's client throws is let through, in a ModelException where it was streamed.
        "prompt_too_long", "error", "model_error", "raise",
        "events", "translated",
        // What the model's client throws (ModelException and BadRequestException stay out: each has several causes), and Reactor's.
        "exceptions", AgentSide.map(
            "AuthenticationException", "model_error", "PermissionDeniedException", "model_error", "NotFoundException", "model_error",
            "UnprocessableEntityException", "model_error", "RetryExhaustedException", "model_error"));

    /** As many retries as by default, with pauses that leave no run silent for long: they are 2 s and more. */
    private static final ExecutionConfig PAUSES =
        ExecutionConfig.builder().initialBackoff(Duration.ofMillis(300)).maxBackoff(Duration.ofSeconds(1)).build();

    /** One conversation: its state is kept in a store, from which the agent of each run goes on. */
    private static final class Conversation implements AgentSide.Session {
        private final InMemoryAgentStateStore store = new InMemoryAgentStateStore();
        private String system;

        public AgentSide.Outcome run(JsonNode given, Consumer<Map<String, Object>> show) throws Throwable {
            var messages = AgentSide.messages(given, false).stream().map(Agent::message).toList();
            if (AgentSide.system(given) != null) system = AgentSide.system(given);
            var model = OpenAIChatModel.builder().baseUrl(given.at("/model/base_url").asText()).apiKey(given.at("/model/api_key").asText())
                .modelName(given.at("/model/name").asText()).stream(given.path("stream").asBoolean()).build();
            var toolkit = new Toolkit();
            given.at("/input/tools").forEach(tool -> toolkit.registerAgentTool(new Tool(given, tool)));
            var agent = ReActAgent.builder().name("agent").model(model).toolkit(toolkit).stateStore(store);
            agent.modelExecutionConfig(PAUSES);
            if (system != null) agent.sysPrompt(system);
            if (given.at("/limits").has("max_iters")) agent.maxIters(given.at("/limits/max_iters").asInt());
            var events = new Events(given, show, new HashMap<>());
            var last = new Msg[1];
            var context = RuntimeContext.builder().sessionId(given.path("session").asText()).build();
            agent.build().streamEvents(messages, context).doOnNext(events).doOnNext(event -> {
                if (event instanceof AgentResultEvent result) last[0] = result.getResult();
            }).blockLast();
            var reason = last[0] == null ? null : last[0].getGenerateReason();
            return new AgentSide.Outcome(reason == GenerateReason.MAX_ITERATIONS ? "limit" : "answered", String.valueOf(reason),
                last[0] == null ? null : last[0].getTextContent());
        }
    }

    /** Events as they come, one for one; a tool's result, which comes in pieces, once it is whole. */
    private record Events(JsonNode given, Consumer<Map<String, Object>> show, Map<String, String> results) implements Consumer<AgentEvent> {
        public void accept(AgentEvent event) {
            var shown = new AgentSide.Shown(given, show);
            if (event instanceof AgentStartEvent) shown.started();
            if (event instanceof TextBlockStartEvent it) say("TEXT_MESSAGE_START", "messageId", id(it), "role", "assistant");
            if (event instanceof TextBlockDeltaEvent it) say("TEXT_MESSAGE_CONTENT", "messageId", id(it), "delta", it.getDelta());
            if (event instanceof TextBlockEndEvent it) say("TEXT_MESSAGE_END", "messageId", id(it));
            if (event instanceof ThinkingBlockStartEvent it) say("REASONING_MESSAGE_START", "messageId", id(it), "role", "reasoning");
            if (event instanceof ThinkingBlockDeltaEvent it) say("REASONING_MESSAGE_CONTENT", "messageId", id(it), "delta", it.getDelta());
            if (event instanceof ThinkingBlockEndEvent it) say("REASONING_MESSAGE_END", "messageId", id(it));
            if (event instanceof ToolCallStartEvent it)
                say("TOOL_CALL_START", "toolCallId", it.getToolCallId(), "toolCallName", it.getToolCallName());
            if (event instanceof ToolCallDeltaEvent it) say("TOOL_CALL_ARGS", "toolCallId", it.getToolCallId(), "delta", it.getDelta());
            if (event instanceof ToolCallEndEvent it) say("TOOL_CALL_END", "toolCallId", it.getToolCallId());
            if (event instanceof ToolResultTextDeltaEvent it) results.merge(it.getToolCallId(), it.getDelta(), String::concat);
            if (event instanceof ToolResultEndEvent it)
                shown.result(it.getToolCallId(), Objects.requireNonNullElse(results.remove(it.getToolCallId()), ""));
            if (event instanceof ExceedMaxItersEvent) say("RAW", "event", AgentSide.JSON.valueToTree(event));
            if (event instanceof AgentEndEvent) shown.finished(null, null);
        }

        /** A block's name is unique within its reply. */
        private static String id(AgentEvent event) {
            JsonNode block = AgentSide.JSON.valueToTree(event);
            return block.path("replyId").asText() + "-" + block.path("blockId").asText();
        }

        private void say(String type, Object... more) {
            var event = AgentSide.map("type", type);
            event.putAll(AgentSide.map(more));
            show.accept(event);
        }
    }

    /** A tool of the scenario. What it throws is the toolkit's to tell the model. */
    private record Tool(JsonNode given, JsonNode tool) implements AgentTool {
        public String getName() { return tool.path("name").asText(); }

        public String getDescription() { return tool.path("description").asText(); }

        public Map<String, Object> getParameters() {
            return AgentSide.JSON.convertValue(tool.path("parameters"), new TypeReference<Map<String, Object>>() {});
        }

        public Mono<ToolResultBlock> callAsync(ToolCallParam call) {
            return Mono.fromCallable(() -> ToolResultBlock.text(
                AgentSide.asText(AgentSide.callTool(given, getName(), call.getInput(), call.getToolUseBlock().getId()))));
        }
    }

    private static Msg message(JsonNode given) {
        var text = given.path("content").asText("");
        if (given.path("role").asText().equals("user")) return new UserMessage(text);
        if (given.has("toolCallId")) return Msg.builder().role(MsgRole.TOOL).name("tool").content(
            ToolResultBlock.text(text).withIdAndName(given.path("toolCallId").asText(), "tool")).build();
        var blocks = new ArrayList<ContentBlock>();
        if (!text.isEmpty()) blocks.add(TextBlock.builder().text(text).build());
        for (var call : given.path("toolCalls")) {
            var arguments = call.at("/function/arguments").asText();
            try {
                blocks.add(ToolUseBlock.builder().id(call.path("id").asText()).name(call.at("/function/name").asText()).content(arguments)
                    .input(AgentSide.JSON.readValue(arguments, new TypeReference<Map<String, Object>>() {})).build());
            } catch (IOException error) {
                throw new IllegalArgumentException(error);
            }
        }
        return Msg.builder().role(MsgRole.ASSISTANT).name("agent").content(blocks).build();
    }

    public static void main(String[] arguments) throws IOException {
        // Loading all of this takes seconds, which no run is to wait for: a request that nobody answers has it loaded.
        var model = OpenAIChatModel.builder().baseUrl("http://127.0.0.1:1").apiKey("-").modelName("-").build();
        ReActAgent.builder().name("-").model(model).maxRetries(1).build().streamEvents("-").onErrorComplete().blockLast();
        AgentSide.serve("agentscope-java", "2.0.0", AgentSide.map("channels", List.of("M", "T", "E", "R"), "dialect", DIALECT,
            "capabilities", AgentSide.map("sessions", true, "streaming", true, "wire_streaming", true)), given -> new Conversation());
    }
}
