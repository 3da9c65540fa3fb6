package headrace.oracle;

import java.util.List;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** The records of all cases: a key, a number, and a time in milliseconds. */
public final class Event {

    private Event() {}

    public static Tuple3<String, Integer, Long> at(String key, int value, long time) {
        return Tuple3.of(key, value, time);
    }

    /** A stream whose watermark stands after each record: its time less a millisecond. */
    @SafeVarargs
    public static SingleOutputStreamOperator<Tuple3<String, Integer, Long>> stream(
            StreamExecutionEnvironment env, Tuple3<String, Integer, Long>... events) {
        return stream(env, WatermarkStrategy.forGenerator(context -> new AfterEach()), events);
    }

    /** A stream whose watermark comes at its end only. */
    @SafeVarargs
    public static SingleOutputStreamOperator<Tuple3<String, Integer, Long>> unhurried(
            StreamExecutionEnvironment env, Tuple3<String, Integer, Long>... events) {
        return stream(env, WatermarkStrategy.noWatermarks(), events);
    }

    @SafeVarargs
    public static SingleOutputStreamOperator<Tuple3<String, Integer, Long>> stream(
            StreamExecutionEnvironment env,
            WatermarkStrategy<Tuple3<String, Integer, Long>> strategy,
            Tuple3<String, Integer, Long>... events) {
        return env.fromData(List.of(events), Types.TUPLE(Types.STRING, Types.INT, Types.LONG))
                .assignTimestampsAndWatermarks(
                        strategy.withTimestampAssigner((event, time) -> event.f2));
    }

    public static KeyedStream<Tuple3<String, Integer, Long>, String> keyed(
            SingleOutputStreamOperator<Tuple3<String, Integer, Long>> stream) {
        return stream.keyBy(event -> event.f0, Types.STRING);
    }

    /** A generator that gives a watermark for each event. */
    private static final class AfterEach
            implements WatermarkGenerator<Tuple3<String, Integer, Long>> {
        private long latest = Long.MIN_VALUE;

        @Override
        public void onEvent(
                Tuple3<String, Integer, Long> event, long time, WatermarkOutput output) {
            latest = Math.max(latest, time);
            output.emitWatermark(new Watermark(latest - 1));
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {}
    }
}
