package headrace.oracle;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeinfo.BasicTypeInfo;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.cep.EventComparator;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.functions.TimedOutPartialMatchHandler;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.nfa.compiler.NFACompiler;
import org.apache.flink.cep.operator.CepOperator;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.WithinType;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.util.KeyedOneInputStreamOperatorTestHarness;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/**
 * Answers cases from the standard input, one JSON object on each line, with Flink's CEP operator.
 *
 * <p>Its watermark and its clock advance by single milliseconds: time passes as finely as it can. Cases
 * on which Flink fails with an error of its own, or does not end, are left out.
 */
public final class Patterns {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int LIMIT_SECONDS = 10;
    private static final OutputTag<Happening> LATE = new OutputTag<>("late") {};
    private static final OutputTag<String> OVER = new OutputTag<>("over") {};

    private Patterns() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        ExecutorService pool = Executors.newCachedThreadPool();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode given = JSON.readTree(line);
            try {
                ObjectNode answer = pool.submit(() -> answer(given)).get(LIMIT_SECONDS, TimeUnit.SECONDS);
                if (answer != null) {
                    ObjectNode both = JSON.createObjectNode();
                    both.set("given", given);
                    both.set("flink", answer);
                    out.println(both);
                }
            } catch (TimeoutException error) {
                System.err.println("does not end: case " + given.get("case"));
            }
        }
        Runtime.getRuntime().halt(0); // threads that do not end
    }

    private static ObjectNode answer(JsonNode given) throws IOException {
        ObjectNode answer = JSON.createObjectNode();
        try {
            run(given, answer);
        } catch (Exception error) {
            Throwable root = error;
            while (root.getCause() != null) {
                root = root.getCause();
            }
            if (root instanceof NullPointerException) {
                System.err.println("fails: case " + given.get("case"));
                return null;
            }
            answer.removeAll();
            answer.put("error", root.getClass().getSimpleName());
        }
        return answer;
    }

    private static void run(JsonNode given, ObjectNode answer) throws Exception {
        ArrayNode matches = answer.putArray("matches");
        ArrayNode over = answer.putArray("over");
        ArrayNode late = answer.putArray("late");
        Pattern<Happening, Happening> pattern = build(given.get("pattern"), given.get("skip"));
        boolean withTimeouts = given.get("timeouts").asBoolean();
        CepOperator<Happening, Integer, String> operator =
                new CepOperator<>(
                        TypeInformation.of(Happening.class)
                                .createSerializer(new SerializerConfigImpl()),
                        given.path("processing_time").asBoolean(false),
                        NFACompiler.compileFactory(pattern, withTimeouts),
                        given.path("comparator").asBoolean(false) ? new ByValue() : null,
                        pattern.getAfterMatchSkipStrategy(),
                        withTimeouts ? new FoundAndOver() : new Found(),
                        LATE);
        try (KeyedOneInputStreamOperatorTestHarness<Integer, Happening, String> task =
                new KeyedOneInputStreamOperatorTestHarness<>(
                        operator,
                        (KeySelector<Happening, Integer>) event -> 0,
                        BasicTypeInfo.INT_TYPE_INFO)) {
            task.open();
            long watermark = 0;
            long clock = 0;
            for (JsonNode event : given.get("events")) {
                if (event.has("watermark")) {
                    for (; watermark <= event.get("watermark").asLong(); watermark++) {
                        task.processWatermark(new Watermark(watermark));
                    }
                } else if (event.has("clock")) {
                    for (; clock <= event.get("clock").asLong(); clock++) {
                        task.setProcessingTime(clock);
                    }
                } else {
                    task.processElement(
                            new StreamRecord<>(Happening.of(event), event.path("ts").asLong()));
                }
            }
            for (Object each : task.getOutput()) {
                if (each instanceof StreamRecord<?> record) {
                    matches.add(JSON.readTree((String) record.getValue()));
                }
            }
            if (task.getSideOutput(OVER) != null) {
                task.getSideOutput(OVER).stream()
                        .map(StreamRecord::getValue)
                        .sorted()
                        .forEach(each -> over.add(tree(each)));
            }
            if (task.getSideOutput(LATE) != null) {
                task.getSideOutput(LATE).forEach(each -> late.add(each.getValue().id));
            }
        }
    }

    private static JsonNode tree(String text) {
        try {
            return JSON.readTree(text);
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Pattern<Happening, Happening> build(JsonNode stages, JsonNode skip) {
        Pattern<Happening, Happening> pattern = null;
        for (JsonNode stage : stages) {
            String name = stage.path("name").asText();
            Pattern<Happening, Happening> group =
                    stage.has("group") ? build(stage.get("group"), null) : null;
            pattern =
                    switch (stage.get("how").asText()) {
                        case "begin" -> begin(name, group, skip);
                        case "next" -> group == null ? pattern.next(name) : pattern.next(group);
                        case "followed_by" ->
                                group == null ? pattern.followedBy(name) : pattern.followedBy(group);
                        case "followed_by_any" ->
                                group == null
                                        ? pattern.followedByAny(name)
                                        : pattern.followedByAny(group);
                        case "not_next" -> pattern.notNext(name);
                        case "not_followed_by" -> pattern.notFollowedBy(name);
                        default -> throw new IllegalStateException(stage.toString());
                    };
            for (JsonNode call : stage.get("calls")) {
                pattern = describe(pattern, call);
            }
        }
        return pattern;
    }

    private static Pattern<Happening, Happening> begin(
            String name, Pattern<Happening, Happening> group, JsonNode skip) {
        if (skip == null || skip.isNull()) {
            return group == null ? Pattern.begin(name) : Pattern.begin(group);
        }
        AfterMatchSkipStrategy strategy = strategy(skip);
        return group == null ? Pattern.begin(name, strategy) : Pattern.begin(group, strategy);
    }

    private static AfterMatchSkipStrategy strategy(JsonNode skip) {
        String stage = skip.path(1).asText();
        boolean fails = skip.size() > 2;
        return switch (skip.get(0).asText()) {
            case "no_skip" -> AfterMatchSkipStrategy.noSkip();
            case "skip_to_next" -> AfterMatchSkipStrategy.skipToNext();
            case "skip_past_last_event" -> AfterMatchSkipStrategy.skipPastLastEvent();
            case "skip_to_first" -> {
                var made = AfterMatchSkipStrategy.skipToFirst(stage);
                yield fails ? made.throwExceptionOnMiss() : made;
            }
            case "skip_to_last" -> {
                var made = AfterMatchSkipStrategy.skipToLast(stage);
                yield fails ? made.throwExceptionOnMiss() : made;
            }
            default -> throw new IllegalStateException(skip.toString());
        };
    }

    private static Pattern<Happening, Happening> describe(
            Pattern<Happening, Happening> pattern, JsonNode call) {
        int size = call.size();
        int first = call.path(1).asInt();
        return switch (call.get(0).asText()) {
            case "where" -> pattern.where(new Condition(call.get(1)));
            case "or_" -> pattern.or(new Condition(call.get(1)));
            case "until" -> pattern.until(new Condition(call.get(1)));
            case "optional" -> pattern.optional();
            case "one_or_more" ->
                    size == 1 ? pattern.oneOrMore() : pattern.oneOrMore(Duration.ofMillis(first));
            case "times" ->
                    size == 2 ? pattern.times(first) : pattern.times(first, call.get(2).asInt());
            case "times_or_more" -> pattern.timesOrMore(first);
            case "greedy" -> pattern.greedy();
            case "consecutive" -> pattern.consecutive();
            case "allow_combinations" -> pattern.allowCombinations();
            case "within" ->
                    size == 2
                            ? pattern.within(Duration.ofMillis(first))
                            : pattern.within(
                                    Duration.ofMillis(first),
                                    WithinType.valueOf(call.get(2).asText()));
            default -> throw new IllegalStateException(call.toString());
        };
    }

    /** An event of a case. */
    public static class Happening implements Serializable {

        public int id;
        public String name;
        public int value;

        static Happening of(JsonNode data) {
            Happening made = new Happening();
            made.id = data.get("id").asInt();
            made.name = data.get("name").asText();
            made.value = data.get("value").asInt();
            return made;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Happening && ((Happening) other).id == id;
        }

        @Override
        public int hashCode() {
            return id;
        }
    }

    private static final class Condition extends IterativeCondition<Happening> {

        private final String text;
        private transient JsonNode data;

        Condition(JsonNode data) {
            text = data.toString();
        }

        @Override
        public boolean filter(Happening event, Context<Happening> context) throws Exception {
            if (data == null) {
                data = JSON.readTree(text);
            }
            return holds(data, event, context);
        }

        private static boolean holds(JsonNode data, Happening event, Context<Happening> context)
                throws Exception {
            JsonNode first = data.path(1);
            switch (data.get(0).asText()) {
                case "name":
                    return event.name.equals(first.asText());
                case "lt":
                    return event.value < first.asInt();
                case "ge":
                    return event.value >= first.asInt();
                case "true":
                    return true;
                case "sum":
                    int sum = event.value;
                    for (Happening each : context.getEventsForPattern(first.asText())) {
                        sum += each.value;
                    }
                    return sum < data.get(2).asInt();
                case "rising":
                    int last = Integer.MIN_VALUE;
                    for (Happening each : context.getEventsForPattern(first.asText())) {
                        last = each.value;
                    }
                    return event.value >= last;
                case "time":
                    return context.timestamp() % 20 < first.asInt();
                case "and":
                    return holds(first, event, context) && holds(data.get(2), event, context);
                default:
                    throw new IllegalStateException(data.toString());
            }
        }
    }

    private static String shown(long time, Map<String, List<Happening>> match) {
        ArrayNode found = JSON.createArrayNode().add(time);
        ObjectNode stages = found.addObject();
        match.forEach(
                (stage, events) -> {
                    ArrayNode ids = stages.putArray(stage);
                    events.forEach(event -> ids.add(event.id));
                });
        return found.toString();
    }

    private static class Found extends PatternProcessFunction<Happening, String> {

        @Override
        public void processMatch(
                Map<String, List<Happening>> match, Context context, Collector<String> out) {
            out.collect(shown(context.timestamp(), match));
        }
    }

    private static final class FoundAndOver extends Found
            implements TimedOutPartialMatchHandler<Happening> {

        @Override
        public void processTimedOutMatch(Map<String, List<Happening>> match, Context context) {
            context.output(OVER, shown(context.timestamp(), match));
        }
    }

    private static final class ByValue implements EventComparator<Happening> {

        @Override
        public int compare(Happening first, Happening second) {
            return Integer.compare(first.value, second.value);
        }
    }
}
