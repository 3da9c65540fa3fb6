package headrace.oracle;

import static headrace.oracle.Event.at;
import static headrace.oracle.Event.keyed;
import static headrace.oracle.Event.unhurried;

import java.time.Duration;
import java.util.List;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.GlobalWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.evictors.CountEvictor;
import org.apache.flink.streaming.api.windowing.evictors.DeltaEvictor;
import org.apache.flink.streaming.api.windowing.evictors.Evictor;
import org.apache.flink.streaming.api.windowing.evictors.TimeEvictor;
import org.apache.flink.streaming.api.windowing.triggers.CountTrigger;
import org.apache.flink.streaming.api.windowing.windows.GlobalWindow;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.runtime.operators.windowing.TimestampedValue;

/** Evictors by count, time and difference, before and after the window function. */
final class Evictors {

    private Evictors() {}

    static final List<Case> CASES =
            List.of(
                    new Case("evictor_count_before", env -> tumbling(env, CountEvictor.of(2))),
                    new Case("evictor_count_after", env -> global(env, CountEvictor.of(2, true))),
                    new Case("evictor_count_global", env -> global(env, CountEvictor.of(3))),
                    new Case(
                            "evictor_time_before",
                            env -> tumbling(env, TimeEvictor.of(Duration.ofSeconds(2)))),
                    new Case(
                            "evictor_time_after",
                            env -> global(env, TimeEvictor.of(Duration.ofSeconds(2), true))),
                    new Case(
                            "evictor_delta_before",
                            env -> tumbling(env, DeltaEvictor.of(3.0, Evictors::difference))),
                    new Case(
                            "evictor_delta_after",
                            env -> global(env, DeltaEvictor.of(3.0, Evictors::difference, true))),
                    new Case("evictor_of_the_user", env -> tumbling(env, new DropOdd())),
                    new Case("evictor_on_sessions", Evictors::sessions),
                    new Case("evictor_with_reduce", Evictors::reduce),
                    new Case("evictor_leaves_nothing", env -> tumbling(env, CountEvictor.of(0))));

    private static double difference(
            Tuple3<String, Integer, Long> old, Tuple3<String, Integer, Long> last) {
        return Math.abs(last.f1 - old.f1);
    }

    private static KeyedStream<Tuple3<String, Integer, Long>, String> input(
            StreamExecutionEnvironment env) {
        return keyed(
                unhurried(
                        env,
                        at("a", 1, 1_000),
                        at("a", 5, 2_000),
                        at("b", 7, 2_500),
                        at("a", 2, 4_500),
                        at("a", 4, 3_000),
                        at("a", 3, 6_000),
                        at("b", 8, 7_000),
                        at("a", 9, 6_500)));
    }

    private static DataStream<String> tumbling(
            StreamExecutionEnvironment env,
            Evictor<? super Tuple3<String, Integer, Long>, ? super TimeWindow> evictor) {
        return input(env)
                .window(TumblingEventTimeWindows.of(Duration.ofSeconds(5)))
                .evictor(evictor)
                .process(new Json.Contents<>(), Types.STRING);
    }

    private static DataStream<String> global(
            StreamExecutionEnvironment env,
            Evictor<? super Tuple3<String, Integer, Long>, ? super GlobalWindow> evictor) {
        return input(env)
                .window(GlobalWindows.create())
                .trigger(CountTrigger.of(2))
                .evictor(evictor)
                .process(new Json.Contents<>(), Types.STRING);
    }

    private static DataStream<String> sessions(
            StreamExecutionEnvironment env) {
        return input(env)
                .window(EventTimeSessionWindows.withGap(Duration.ofSeconds(1)))
                .evictor(CountEvictor.of(2))
                .process(new Json.Contents<>(), Types.STRING);
    }

    private static DataStream<String> reduce(
            StreamExecutionEnvironment env) {
        return input(env)
                .window(TumblingEventTimeWindows.of(Duration.ofSeconds(5)))
                .evictor(CountEvictor.of(2))
                .reduce((left, right) -> Tuple3.of(left.f0, left.f1 + right.f1, right.f2))
                .map(value -> Json.of(value.f0, value.f1))
                .returns(Types.STRING);
    }

    /** Takes odd numbers out before the function sees them. */
    private static final class DropOdd
            implements Evictor<Tuple3<String, Integer, Long>, TimeWindow> {
        @Override
        public void evictBefore(
                Iterable<TimestampedValue<Tuple3<String, Integer, Long>>> elements,
                int size,
                TimeWindow window,
                EvictorContext context) {
            var iterator = elements.iterator();
            while (iterator.hasNext()) {
                if (iterator.next().getValue().f1 % 2 == 1) {
                    iterator.remove();
                }
            }
        }

        @Override
        public void evictAfter(
                Iterable<TimestampedValue<Tuple3<String, Integer, Long>>> elements,
                int size,
                TimeWindow window,
                EvictorContext context) {}
    }
}
