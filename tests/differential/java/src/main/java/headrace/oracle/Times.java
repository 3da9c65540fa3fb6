package headrace.oracle;

import static headrace.oracle.Event.at;
import static headrace.oracle.Event.keyed;
import static headrace.oracle.Event.stream;

import java.time.Duration;
import java.util.List;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.triggers.ContinuousEventTimeTrigger;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/** Watermark generators of the user, and what depends on when watermarks come. */
final class Times {

    private Times() {}

    private static final OutputTag<Tuple3<String, Integer, Long>> LATE =
            new OutputTag<>("late", Types.TUPLE(Types.STRING, Types.INT, Types.LONG));

    static final List<Case> CASES =
            List.of(
                    new Case("generator_after_each_record", Times::watermarks),
                    new Case("generator_on_markers", Times::markers),
                    new Case("late_records", env -> lateness(env, 0)),
                    new Case("allowed_lateness", env -> lateness(env, 2_000)),
                    new Case("sessions_merge_late", Times::sessions),
                    new Case("continuous_event_time_trigger", Times::continuous));

    private static DataStream<String> watermarks(StreamExecutionEnvironment env) {
        return keyed(stream(env, at("a", 1, 1_000), at("a", 2, 3_000), at("a", 3, 2_000)))
                .process(new Seen(), Types.STRING);
    }

    private static DataStream<String> markers(StreamExecutionEnvironment env) {
        WatermarkStrategy<Tuple3<String, Integer, Long>> strategy =
                WatermarkStrategy.forGenerator(context -> new OnMarkers());
        return keyed(
                        stream(
                                env,
                                strategy,
                                at("a", 1, 1_000),
                                at("a", 0, 5_000),
                                at("a", 2, 9_000),
                                at("a", 3, 3_000),
                                at("a", 0, 12_000),
                                at("a", 4, 11_000)))
                .process(new Seen(), Types.STRING);
    }

    private static DataStream<String> lateness(StreamExecutionEnvironment env, long allowed) {
        SingleOutputStreamOperator<String> main =
                keyed(
                                stream(
                                        env,
                                        at("a", 1, 1_000),
                                        at("a", 2, 5_100),
                                        at("a", 4, 2_000),
                                        at("a", 8, 6_999),
                                        at("a", 16, 3_000),
                                        at("b", 32, 7_001),
                                        at("a", 64, 4_000)))
                        .window(TumblingEventTimeWindows.of(Duration.ofSeconds(5)))
                        .allowedLateness(Duration.ofMillis(allowed))
                        .sideOutputLateData(LATE)
                        .process(new Json.Contents<>(), Types.STRING);
        return withLate(main);
    }

    private static DataStream<String> sessions(StreamExecutionEnvironment env) {
        SingleOutputStreamOperator<String> main =
                keyed(
                                stream(
                                        env,
                                        at("a", 1, 0),
                                        at("a", 2, 9_000),
                                        at("a", 4, 4_500),
                                        at("b", 8, 9_100),
                                        at("a", 16, 16_000),
                                        at("a", 32, 30_000),
                                        at("a", 64, 2_000)))
                        .window(EventTimeSessionWindows.withGap(Duration.ofSeconds(5)))
                        .allowedLateness(Duration.ofSeconds(10))
                        .sideOutputLateData(LATE)
                        .process(new Json.Contents<>(), Types.STRING);
        return withLate(main);
    }

    private static DataStream<String> continuous(StreamExecutionEnvironment env) {
        return keyed(
                        stream(
                                env,
                                at("a", 1, 500),
                                at("a", 2, 2_500),
                                at("a", 4, 4_500),
                                at("b", 8, 8_200),
                                at("a", 16, 18_500)))
                .window(TumblingEventTimeWindows.of(Duration.ofSeconds(10)))
                .trigger(ContinuousEventTimeTrigger.of(Duration.ofSeconds(2)))
                .process(new Json.Contents<>(), Types.STRING);
    }

    private static DataStream<String> withLate(SingleOutputStreamOperator<String> main) {
        return main.union(
                main.getSideOutput(LATE)
                        .map(event -> Json.of("late", event.f1))
                        .returns(Types.STRING));
    }

    /** A record with the watermark that stands when it comes. */
    private static final class Seen
            extends KeyedProcessFunction<String, Tuple3<String, Integer, Long>, String> {
        @Override
        public void processElement(
                Tuple3<String, Integer, Long> value, Context context, Collector<String> out) {
            out.collect(
                    Json.of(
                            value.f0,
                            value.f1,
                            context.timestamp(),
                            context.timerService().currentWatermark()));
        }
    }

    /** A generator that looks at its markers only: records with the number zero. */
    private static final class OnMarkers
            implements WatermarkGenerator<Tuple3<String, Integer, Long>> {
        @Override
        public void onEvent(
                Tuple3<String, Integer, Long> event, long time, WatermarkOutput output) {
            if (event.f1 == 0) {
                output.emitWatermark(new Watermark(time));
            }
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {}
    }
}
