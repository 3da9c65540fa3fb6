package headrace.oracle;

import static headrace.oracle.Event.at;
import static headrace.oracle.Event.keyed;
import static headrace.oracle.Event.unhurried;

import java.time.Duration;
import java.util.List;
import org.apache.flink.api.common.functions.CoGroupFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** Interval joins, window joins and co-groups. */
final class Joins {

    private Joins() {}

    private static final Duration SECOND = Duration.ofSeconds(1);

    static final List<Case> CASES =
            List.of(
                    new Case("interval_join", env -> interval(env, -2_000, 1_000, false, false)),
                    new Case(
                            "interval_join_lower_exclusive",
                            env -> interval(env, -2_000, 1_000, true, false)),
                    new Case(
                            "interval_join_upper_exclusive",
                            env -> interval(env, -2_000, 1_000, false, true)),
                    new Case(
                            "interval_join_both_exclusive",
                            env -> interval(env, -2_000, 1_000, true, true)),
                    new Case("interval_join_future", env -> interval(env, 1_000, 3_000, false, false)),
                    new Case("interval_join_same_time", env -> interval(env, 0, 0, false, false)),
                    new Case(
                            "window_join_tumbling",
                            env -> join(env, TumblingEventTimeWindows.of(SECOND.multipliedBy(2)))),
                    new Case(
                            "window_join_sliding",
                            env ->
                                    join(
                                            env,
                                            SlidingEventTimeWindows.of(
                                                    SECOND.multipliedBy(2), SECOND))),
                    new Case(
                            "window_join_session",
                            env -> join(env, EventTimeSessionWindows.withGap(SECOND))),
                    new Case(
                            "co_group_tumbling",
                            env -> coGroup(env, TumblingEventTimeWindows.of(SECOND.multipliedBy(2)))),
                    new Case(
                            "co_group_session",
                            env -> coGroup(env, EventTimeSessionWindows.withGap(SECOND))));

    private static SingleOutputStreamOperator<Tuple3<String, Integer, Long>> left(
            StreamExecutionEnvironment env) {
        return unhurried(
                env,
                at("a", 1, 0),
                at("a", 2, 1_000),
                at("b", 3, 1_500),
                at("a", 4, 2_000),
                at("a", 5, 5_000),
                at("c", 6, 5_500));
    }

    private static SingleOutputStreamOperator<Tuple3<String, Integer, Long>> right(
            StreamExecutionEnvironment env) {
        return unhurried(
                env,
                at("a", 10, 0),
                at("a", 20, 1_000),
                at("a", 30, 1_999),
                at("b", 40, 2_500),
                at("a", 50, 3_000),
                at("d", 60, 5_000),
                at("a", 70, 5_999));
    }

    private static final class Pair
            extends ProcessJoinFunction<
                    Tuple3<String, Integer, Long>, Tuple3<String, Integer, Long>, String> {
        @Override
        public void processElement(
                Tuple3<String, Integer, Long> left,
                Tuple3<String, Integer, Long> right,
                Context context,
                Collector<String> out) {
            out.collect(
                    Json.of(
                            left.f0,
                            left.f1,
                            right.f1,
                            context.getLeftTimestamp(),
                            context.getRightTimestamp(),
                            context.getTimestamp()));
        }
    }

    private static DataStream<String> interval(
            StreamExecutionEnvironment env,
            long lower,
            long upper,
            boolean lowerExclusive,
            boolean upperExclusive) {
        KeyedStream.IntervalJoined<
                        Tuple3<String, Integer, Long>, Tuple3<String, Integer, Long>, String>
                joined =
                        keyed(left(env))
                                .intervalJoin(keyed(right(env)))
                                .between(Duration.ofMillis(lower), Duration.ofMillis(upper));
        if (lowerExclusive) {
            joined = joined.lowerBoundExclusive();
        }
        if (upperExclusive) {
            joined = joined.upperBoundExclusive();
        }
        return joined.process(new Pair(), Types.STRING);
    }

    private static DataStream<String> join(
            StreamExecutionEnvironment env, WindowAssigner<Object, TimeWindow> windows) {
        return left(env)
                .join(right(env))
                .where(event -> event.f0, Types.STRING)
                .equalTo(event -> event.f0, Types.STRING)
                .window(windows)
                .apply(
                        (one, two) -> Json.of(one.f0, one.f1, two.f1),
                        Types.STRING);
    }

    private static DataStream<String> coGroup(
            StreamExecutionEnvironment env, WindowAssigner<Object, TimeWindow> windows) {
        CoGroupFunction<Tuple3<String, Integer, Long>, Tuple3<String, Integer, Long>, String>
                both =
                        (ones, twos, out) ->
                                out.collect(Json.of(Json.values(ones), Json.values(twos)));
        return left(env)
                .coGroup(right(env))
                .where(event -> event.f0, Types.STRING)
                .equalTo(event -> event.f0, Types.STRING)
                .window(windows)
                .apply(both, Types.STRING);
    }
}
