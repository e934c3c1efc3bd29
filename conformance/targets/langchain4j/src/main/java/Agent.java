import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.agent.tool.*;
import dev.langchain4j.data.message.*;
import dev.langchain4j.exception.ToolArgumentsException;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.chat.request.json.*;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.openai.*;
import dev.langchain4j.model.output.*;
import dev.langchain4j.observability.api.listener.*;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.Result;
import dev.langchain4j.service.TokenStream;
import dev.langchain4j.service.tool.ToolExecutor;
import java.io.IOException;
import java.util.*;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * LangChain4j as an agent under test: `target:langchain4j`. Drives an AI Service over the OpenAI chat model, blocking or as a
 * TokenStream, and translates what its listeners and the stream show. Repairs nothing: an exception of the framework ends the run.
 */
public final class Agent {
    // What differs from the recommended answers, each with where LangChain4j says or does so. Paths are below dev/langchain4j/.
    private static final Map<String, Object> DIALECT = AgentSide.map(
        // service/AiServiceStreamingResponseHandler.java, onCompleteResponse: thrown at the first reply with calls beyond the round trips.
        "on_limit", "raise", "last_round_tools", "skip",
        // service/tool/ToolService.java, maxToolCallingRoundTrips: 100 replies with calls, and one more.
        "default_max_iters", 101,
        // service/tool/ToolService.java: a reply without calls is the end, whatever else it holds.
        "empty_response", "finish",
        // internal/ExceptionMapper.java: thrown as for any other request; compacting is the memory's, before the request.
        "prompt_too_long", "error", "model_error", "raise",
        // service/Result.java, finishReason: a cut text is the answer all the same, the reason stands beside it.
        "length_stop", "flag",
        // service/tool/HallucinatedToolNameStrategy.java, THROW_EXCEPTION; service/AiServices.java, toolArgumentsErrorHandler.
        "unknown_tool", "raise", "bad_arguments", "raise",
        // service/tool/ToolExecutor.java: it gets the arguments as the text that the model wrote.
        "type_check", "tool", "extra_args", "pass",
        // service/AiServices.java, executeToolsConcurrently: off.
        "parallel_tools", "sequential",
        // service/Result.java, tokenUsage: a sum over the run.
        "events", "translated", "usage_events", "per_run",
        // RuntimeException stays out, and InvalidRequestException: each has several causes. CompletionException is the JDK's HTTP client's.
        "exceptions", AgentSide.map(
            "AuthenticationException", "model_error", "ModelNotFoundException", "model_error", "RateLimitException", "model_error",
            "InternalServerException", "model_error", "TimeoutException", "model_error", "LangChain4jException", "model_error",
            "CompletionException", "model_error", "ContentFilteredException", "filtered"));

    interface Assistant {
        Result<String> answer(String message);
        TokenStream stream(String message);
    }

    /** One conversation: a chat memory that forgets nothing. */
    private static final class Conversation implements AgentSide.Session {
        private final MessageWindowChatMemory memory = MessageWindowChatMemory.withMaxMessages(Integer.MAX_VALUE);

        public AgentSide.Outcome run(JsonNode given, Consumer<Map<String, Object>> show) throws Throwable {
            var stream = given.path("stream").asBoolean();
            var shown = new AgentSide.Shown(given, show);
            var service = AiServices.builder(Assistant.class).chatMemory(memory).tools(tools(given))
                .registerListener((AiServiceStartedListener) event -> shown.started())
                .registerListener((AiServiceResponseReceivedListener) event -> reply(shown, event.response().aiMessage(), stream))
                .registerListener((ToolExecutedEventListener) event -> shown.result(event.request().id(), event.resultText()));
            // A round trip is a reply with calls; the reply after the last one ends the run. There is no value for no reply at all.
            if (given.at("/limits").has("max_iters")) service.maxToolCallingRoundTrips(Math.max(0, given.at("/limits/max_iters").asInt() - 1));
            var messages = AgentSide.messages(given, false);
            if (AgentSide.system(given) != null) memory.add(SystemMessage.from(AgentSide.system(given)));
            messages.subList(0, messages.size() - 1).forEach(message -> memory.add(message(message)));
            var text = messages.get(messages.size() - 1).path("content").asText();
            var url = given.at("/model/base_url").asText();
            var key = given.at("/model/api_key").asText();
            var name = given.at("/model/name").asText();
            if (!stream) {
                service.chatModel(OpenAiChatModel.builder().baseUrl(url).apiKey(key).modelName(name).returnThinking(true).build());
                var result = service.build().answer(text);
                return ended(shown, result.tokenUsage(), result.finishReason(), result.content());
            }
            var model = OpenAiStreamingChatModel.builder().baseUrl(url).apiKey(key).modelName(name).returnThinking(true).build();
            var done = new CompletableFuture<ChatResponse>();
            service.streamingChatModel(model).build().stream(text).onPartialResponse(shown::text)
                .onPartialThinking(piece -> shown.thinking(piece.text()))
                .onPartialToolCall(piece -> shown.call(piece.index(), piece.id(), piece.name(), piece.partialArguments()))
                .onCompleteResponse(done::complete).onError(done::completeExceptionally).start();
            var thrown = done.handle((reply, error) -> error).join();
            if (thrown != null) throw thrown;
            return ended(shown, done.join().tokenUsage(), done.join().finishReason(), done.join().aiMessage().text());
        }
    }

    /** A reply is there, whole. Streamed, a call without arguments has come in no piece. */
    private static void reply(AgentSide.Shown shown, AiMessage message, boolean streamed) {
        if (!streamed) shown.thinking(message.thinking());
        if (!streamed) shown.text(message.text());
        message.toolExecutionRequests().forEach(call -> shown.whole(call.id(), call.name(), call.arguments()));
        shown.end();
    }

    private static AgentSide.Outcome ended(AgentSide.Shown shown, TokenUsage spent, FinishReason reason, String text) {
        shown.finished(spent == null ? null : spent.inputTokenCount(), spent == null ? null : spent.outputTokenCount());
        return AgentSide.outcome(reason == null ? null : reason.name().toLowerCase(), text);
    }

    private static Map<ToolSpecification, ToolExecutor> tools(JsonNode given) {
        var tools = new LinkedHashMap<ToolSpecification, ToolExecutor>();
        for (var tool : given.at("/input/tools")) {
            var schema = JsonObjectSchema.builder();
            var parameters = tool.path("parameters");
            for (var one : parameters.path("properties").properties())
                schema.addProperty(one.getKey(), JsonRawSchema.from(one.getValue().toString()));
            if (parameters.has("required")) schema.required(AgentSide.JSON.convertValue(parameters.path("required"), String[].class));
            if (parameters.has("additionalProperties")) schema.additionalProperties(parameters.path("additionalProperties").asBoolean());
            var made = ToolSpecification.builder().name(tool.path("name").asText()).description(tool.path("description").asText());
            tools.put(made.parameters(schema.build()).build(), (request, memory) -> call(given, request));
        }
        return tools;
    }

    /** An executor reads the arguments itself; those that it cannot take are a ToolArgumentsException. */
    private static String call(JsonNode given, ToolExecutionRequest request) {
        try {
            var text = Objects.requireNonNullElse(request.arguments(), "");
            var arguments = AgentSide.JSON.readValue(text.isBlank() ? "{}" : text, ObjectNode.class);
            return AgentSide.asText(AgentSide.callTool(given, request.name(), arguments, request.id()));
        } catch (IOException error) {
            throw new ToolArgumentsException(error);
        } catch (AgentSide.ToolFailed failed) {
            throw failed.rejected ? new ToolArgumentsException(failed) : failed;
        }
    }

    private static ChatMessage message(JsonNode given) {
        var text = given.path("content").asText(null);
        if (given.path("role").asText().equals("user")) return UserMessage.from(text);
        if (given.has("toolCallId")) return ToolExecutionResultMessage.from(given.path("toolCallId").asText(), null, text);
        var calls = new ArrayList<ToolExecutionRequest>();
        given.path("toolCalls").forEach(call -> calls.add(ToolExecutionRequest.builder().id(call.path("id").asText())
            .name(call.at("/function/name").asText()).arguments(call.at("/function/arguments").asText()).build()));
        return AiMessage.builder().text(text).toolExecutionRequests(calls).build();
    }

    public static void main(String[] arguments) throws IOException {
        AgentSide.serve("langchain4j", "1.19.0", AgentSide.map(
            "channels", List.of("M", "T", "E", "R", "U"), "dialect", DIALECT,
            "capabilities", AgentSide.map("sessions", true, "streaming", true, "wire_streaming", true)), given -> new Conversation());
    }
}
