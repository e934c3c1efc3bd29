import com.fasterxml.jackson.databind.JsonNode;
import java.util.*;
import java.util.function.*;
import java.util.stream.Collectors;
import org.springframework.ai.chat.client.*;
import org.springframework.ai.chat.client.advisor.*;
import org.springframework.ai.chat.client.advisor.api.*;
import org.springframework.ai.chat.memory.*;
import org.springframework.ai.chat.messages.*;
import org.springframework.ai.chat.model.*;
import org.springframework.ai.model.tool.*;
import org.springframework.ai.openai.*;
import org.springframework.ai.tool.ToolCallback;
import org.springframework.ai.tool.function.FunctionToolCallback;
import org.springframework.core.ParameterizedTypeReference;
import reactor.core.publisher.Flux;

/**
 * Spring AI as an agent under test: `target:spring-ai`. Drives a ChatClient over the OpenAI model, called or streamed, with a chat memory.
 * What it shows is what an advisor within its tool loop is shown. Repairs nothing: an exception of the framework ends the run.
 */
public final class Agent {
    // What differs from the recommended answers, each with where Spring AI says or does so. Paths are below org/springframework/ai/.
    private static final Map<String, Object> DIALECT = AgentSide.map(
        // model/tool/ToolCallLimits.java: calls are limited, 40 of each tool and 150 in all; rounds are not.
        "default_max_iters", "unlimited",
        // chat/client/advisor/ToolCallingAdvisor.java: a reply without calls is the end, whatever else it holds.
        "empty_response", "finish",
        // openai/OpenAiChatModel.java: what the OpenAI SDK throws is let through; "Tool call id is missing" (chunkToChatCompletion).
        "prompt_too_long", "error", "model_error", "raise", "bad_ids", "refuse",
        // chat/metadata/ChatGenerationMetadata.java, getFinishReason: a cut text is the answer all the same, the reason stands beside it.
        "length_stop", "flag",
        // model/tool/DefaultToolCallingManager.java: "No ToolCallback found for tool name" is thrown, and so is what is no JSON of a map.
        "unknown_tool", "raise", "bad_arguments", "raise",
        // tool/function/FunctionToolCallback.java: arguments are read as the input's type, here any map. Calls run in a loop.
        "type_check", "tool", "extra_args", "pass", "parallel_tools", "sequential",
        // chat/client/advisor/UsageAccumulator.java: a sum over the run.
        "events", "translated", "usage_events", "per_run",
        // The OpenAI SDK's. BadRequestException stays out: an overflow is one.
        "exceptions", List.of("RateLimitException", "InternalServerException", "UnauthorizedException", "PermissionDeniedException",
            "NotFoundException", "UnprocessableEntityException", "UnexpectedStatusCodeException", "OpenAIIoException",
            "OpenAIInvalidDataException").stream().collect(Collectors.toMap(name -> name, name -> "model_error")));

    /** One conversation: a chat memory that forgets nothing, around the tool loop as it is by default. */
    private static final class Conversation implements AgentSide.Session {
        private final ChatMemory memory = MessageWindowChatMemory.builder().maxMessages(Integer.MAX_VALUE).build();
        private final ChatClient client;
        private String system;
        Conversation(JsonNode model) {
            var options = OpenAiChatOptions.builder().baseUrl(model.path("base_url").asText()).apiKey(model.path("api_key").asText());
            options.model(model.path("name").asText()).streamUsage(true);
            client = ChatClient.create(OpenAiChatModel.builder().options(options.build()).build());
        }

        public AgentSide.Outcome run(JsonNode given, Consumer<Map<String, Object>> show) {
            var shown = new AgentSide.Shown(given, show);
            var id = given.path("session").asText();
            var messages = AgentSide.messages(given, false);
            if (AgentSide.system(given) != null) system = AgentSide.system(given);
            messages.subList(0, messages.size() - 1).forEach(message -> memory.add(id, message(message)));
            var tools = ToolCallingManager.builder().maxTotalToolCalls(given.at("/limits/max_tool_calls").asInt(150));
            var request = client.prompt().user(messages.get(messages.size() - 1).path("content").asText()).toolCallbacks(tools(given))
                .advisors(MessageChatMemoryAdvisor.builder(memory).build(), new Inside(shown))
                .advisors(ToolCallingAdvisor.builder().toolCallingManager(tools.build()).build())
                .advisors(advisors -> advisors.param(ChatMemory.CONVERSATION_ID, id));
            if (system != null) request.system(system);
            shown.started();
            var replies = given.path("stream").asBoolean() ? request.stream().chatResponse().collectList().block()
                : List.of(request.call().chatResponse());
            var generations = replies.stream().flatMap(reply -> reply.getResults().stream()).toList();
            var spent = replies.stream().map(reply -> reply.getMetadata().getUsage()).filter(usage -> usage.getTotalTokens() > 0)
                .reduce((one, next) -> next).orElse(null);
            shown.finished(spent == null ? null : spent.getPromptTokens(), spent == null ? null : spent.getCompletionTokens());
            var reason = generations.stream().map(one -> one.getMetadata().getFinishReason()).filter(Objects::nonNull)
                .reduce((one, next) -> next).orElse(null);
            var text = generations.stream().map(one -> one.getOutput().getText()).filter(Objects::nonNull).collect(Collectors.joining());
            if (ToolCallLimitExceededException.FINISH_REASON.equals(reason)) return new AgentSide.Outcome("guard", reason, text);
            return AgentSide.outcome(reason == null ? null : reason.toLowerCase(), text);
        }
    }

    /** An advisor between the tool loop and the model: it sees each request and each reply. */
    private record Inside(AgentSide.Shown shown) implements CallAdvisor, StreamAdvisor {
        public String getName() { return "shown"; }
        public int getOrder() { return LOWEST_PRECEDENCE - 1; }

        public ChatClientResponse adviseCall(ChatClientRequest request, CallAdvisorChain chain) {
            results(request);
            var response = chain.nextCall(request);
            piece(response.chatResponse(), "");
            shown.end();
            return response;
        }

        public Flux<ChatClientResponse> adviseStream(ChatClientRequest request, StreamAdvisorChain chain) {
            results(request);
            var thought = new StringBuilder();
            return chain.nextStream(request).doOnNext(response -> thought.append(piece(response.chatResponse(), thought.toString())))
                .doOnComplete(shown::end);
        }

        private void results(ChatClientRequest request) {
            if (request.prompt().getLastUserOrToolResponseMessage() instanceof ToolResponseMessage last)
                last.getResponses().forEach(result -> shown.result(result.id(), result.responseData()));
        }

        // Of a stream each piece carries all thinking so far, of which `before` was shown.
        private String piece(ChatResponse reply, String before) {
            if (reply == null || reply.getResult() == null) return "";
            var message = reply.getResult().getOutput();
            var thinking = String.valueOf(message.getMetadata().getOrDefault("reasoningContent", "")).substring(before.length());
            shown.thinking(thinking);
            shown.text(message.getText());
            message.getToolCalls().forEach(call -> shown.whole(call.id(), call.name(), call.arguments()));
            return thinking;
        }
    }

    private static List<ToolCallback> tools(JsonNode given) {
        var tools = new ArrayList<ToolCallback>();
        for (var tool : given.at("/input/tools")) {
            var name = tool.path("name").asText();
            Function<Map<String, ?>, ?> call = it -> AgentSide.JSON.convertValue(AgentSide.callTool(given, name, it, null), Object.class);
            var type = new ParameterizedTypeReference<Map<String, ?>>() {};
            tools.add(FunctionToolCallback.builder(name, call).description(tool.path("description").asText()).inputType(type)
                .inputSchema(tool.path("parameters").toString()).build());
        }
        return tools;
    }

    private static Message message(JsonNode given) {
        var text = given.path("content").asText("");
        if (given.path("role").asText().equals("user")) return new UserMessage(text);
        if (given.has("toolCallId")) return ToolResponseMessage.builder().responses(List.of(
            new ToolResponseMessage.ToolResponse(given.path("toolCallId").asText(), "", text))).build();
        var calls = new ArrayList<AssistantMessage.ToolCall>();
        given.path("toolCalls").forEach(call -> calls.add(new AssistantMessage.ToolCall(call.path("id").asText(), "function",
            call.at("/function/name").asText(), call.at("/function/arguments").asText())));
        return AssistantMessage.builder().content(text).toolCalls(calls).build();
    }

    public static void main(String[] arguments) throws Exception {
        // Loading all of this takes seconds, which no run is to wait for: a request that nobody answers has it loaded.
        var model = AgentSide.JSON.readTree("{\"base_url\": \"http://127.0.0.1:1\", \"api_key\": \"-\", \"name\": \"-\"}");
        new Conversation(model).client.prompt("-").stream().content().onErrorComplete().blockLast();
        AgentSide.serve("spring-ai", "2.0.1", AgentSide.map("channels", List.of("M", "T", "E", "R", "U"), "dialect", DIALECT,
            "capabilities", AgentSide.map("sessions", true, "streaming", true, "wire_streaming", true,
                "guards", AgentSide.map("max_tool_calls", "caller"))), given -> new Conversation(given.path("model")));
    }
}
