import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFilterFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/**
 * Flink's own CEP on the records of {@code bench.workload}, started by {@code bench.peers.flink_cep}.
 *
 * <p>Arguments: {@code name=value} of the workload, and {@code -name=value} of Flink's configuration.
 * Prints the seconds and the tally as JSON.
 */
public final class FlinkCep {

    private static final TypeInformation<Tuple3<Long, Long, Long>> RECORD =
            Types.TUPLE(Types.LONG, Types.LONG, Types.LONG);

    private FlinkCep() {}

    public static void main(String[] arguments) throws Exception {
        Map<String, String> settings = new HashMap<>();
        Map<String, Long> given = new HashMap<>();
        for (String argument : arguments) {
            String[] parts = argument.split("=", 2);
            if (parts[0].startsWith("-")) {
                settings.put(parts[0].substring(1), parts[1]);
            } else {
                given.put(parts[0], Long.parseLong(parts[1]));
            }
        }
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(Configuration.fromMap(settings));
        build(env, given);
        long started = System.nanoTime();
        JobExecutionResult result = env.execute("bench-patterns");
        double seconds = (System.nanoTime() - started) / 1e9;
        System.out.printf(
                "{\"seconds\": %.4f, \"tally\": [%d, %d, %d, %d]}%n",
                seconds,
                result.<Long>getAccumulatorResult("matches"),
                result.<Long>getAccumulatorResult("0"),
                result.<Long>getAccumulatorResult("1"),
                result.<Long>getAccumulatorResult("2"));
    }

    private static void build(StreamExecutionEnvironment env, Map<String, Long> given) {
        long records = given.get("records");
        long half = records / 2;
        long keys = given.get("keys");
        long multiplier = given.get("multiplier");
        long modulus = given.get("modulus");
        long base = given.get("base_ms");
        long below = given.get("below");
        long from = given.get("from");
        DataStream<Tuple3<Long, Long, Long>> events =
                env.fromSource(
                                new NumberSequenceSource(0, records - 1),
                                WatermarkStrategy.noWatermarks(),
                                "numbers")
                        .map(
                                number -> {
                                    long index =
                                            number < half ? 2 * number : 2 * (number - half) + 1;
                                    long mixed = index * multiplier % modulus;
                                    return Tuple3.of(
                                            mixed % keys,
                                            (mixed ^ mixed >> 15) % 1000,
                                            base + index);
                                },
                                RECORD)
                        .assignTimestampsAndWatermarks(
                                WatermarkStrategy.<Tuple3<Long, Long, Long>>forMonotonousTimestamps()
                                        .withTimestampAssigner((event, time) -> event.f2));
        Pattern<Tuple3<Long, Long, Long>, ?> pattern =
                Pattern.<Tuple3<Long, Long, Long>>begin(
                                "small", AfterMatchSkipStrategy.skipPastLastEvent())
                        .where(SimpleCondition.of(event -> event.f1 < below))
                        .followedBy("large")
                        .where(SimpleCondition.of(event -> event.f1 >= from))
                        .within(Duration.ofMillis(given.get("within_ms")));
        CEP.pattern(events.keyBy(event -> event.f0, Types.LONG), pattern)
                .process(new Found(), RECORD)
                .filter(new Counting())
                .sinkTo(new DiscardingSink<>());
    }

    private static final class Found
            extends PatternProcessFunction<Tuple3<Long, Long, Long>, Tuple3<Long, Long, Long>> {

        @Override
        public void processMatch(
                Map<String, List<Tuple3<Long, Long, Long>>> match,
                Context context,
                Collector<Tuple3<Long, Long, Long>> out) {
            Tuple3<Long, Long, Long> small = match.get("small").get(0);
            out.collect(Tuple3.of(small.f0, small.f1, match.get("large").get(0).f1));
        }
    }

    /** Counts all and lets none pass. */
    private static final class Counting extends RichFilterFunction<Tuple3<Long, Long, Long>> {

        private final LongCounter matches = new LongCounter();
        private final LongCounter[] sums = {new LongCounter(), new LongCounter(), new LongCounter()};

        @Override
        public void open(OpenContext context) {
            getRuntimeContext().addAccumulator("matches", matches);
            for (int field = 0; field < sums.length; field++) {
                getRuntimeContext().addAccumulator(Integer.toString(field), sums[field]);
            }
        }

        @Override
        public boolean filter(Tuple3<Long, Long, Long> found) {
            matches.add(1L);
            sums[0].add(found.f0);
            sums[1].add(found.f1);
            sums[2].add(found.f2);
            return false;
        }
    }
}
