package headrace.oracle;

import static headrace.oracle.Event.at;
import static headrace.oracle.Event.keyed;
import static headrace.oracle.Event.unhurried;

import java.time.Duration;
import java.util.List;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.datastream.AllWindowedStream;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.datastream.WindowedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;

/** The sums and extremes of windows, with and without keys. */
final class Sums {

    private Sums() {}

    private interface Fold {
        DataStream<Tuple3<String, Integer, Long>> of(
                WindowedStream<Tuple3<String, Integer, Long>, String, TimeWindow> windows);
    }

    private interface FoldAll {
        DataStream<Tuple3<String, Integer, Long>> of(
                AllWindowedStream<Tuple3<String, Integer, Long>, TimeWindow> windows);
    }

    static final List<Case> CASES =
            List.of(
                    new Case("window_sum", env -> fold(env, windows -> windows.sum(1))),
                    new Case("window_min", env -> fold(env, windows -> windows.min(1))),
                    new Case("window_max", env -> fold(env, windows -> windows.max(1))),
                    new Case("window_min_by", env -> fold(env, windows -> windows.minBy(1))),
                    new Case("window_max_by", env -> fold(env, windows -> windows.maxBy(1))),
                    new Case("window_all_sum", env -> foldAll(env, windows -> windows.sum(1))),
                    new Case("window_all_min_by", env -> foldAll(env, windows -> windows.minBy(1))),
                    new Case("window_all_max", env -> foldAll(env, windows -> windows.max(1))));

    private static SingleOutputStreamOperator<Tuple3<String, Integer, Long>> input(
            StreamExecutionEnvironment env) {
        return unhurried(
                env,
                at("a", 3, 1_000),
                at("a", 1, 2_000),
                at("b", 7, 2_500),
                at("a", 1, 4_500),
                at("a", 9, 3_000),
                at("a", 9, 3_500),
                at("b", 8, 7_000),
                at("a", 2, 6_500));
    }

    private static DataStream<String> fold(StreamExecutionEnvironment env, Fold fold) {
        return fold.of(
                        keyed(input(env))
                                .window(TumblingEventTimeWindows.of(Duration.ofSeconds(5))))
                .process(new Json.Stamped());
    }

    private static DataStream<String> foldAll(StreamExecutionEnvironment env, FoldAll fold) {
        return fold.of(
                        input(env)
                                .windowAll(TumblingEventTimeWindows.of(Duration.ofSeconds(5))))
                .process(new Json.Stamped());
    }
}
