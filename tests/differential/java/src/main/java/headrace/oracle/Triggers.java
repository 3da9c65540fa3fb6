package headrace.oracle;

import static headrace.oracle.Event.at;
import static headrace.oracle.Event.keyed;
import static headrace.oracle.Event.unhurried;

import java.util.List;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.GlobalWindows;
import org.apache.flink.streaming.api.windowing.evictors.CountEvictor;
import org.apache.flink.streaming.api.windowing.triggers.DeltaTrigger;
import org.apache.flink.streaming.api.windowing.triggers.PurgingTrigger;
import org.apache.flink.streaming.api.windowing.triggers.Trigger;
import org.apache.flink.streaming.api.windowing.windows.GlobalWindow;

/** The trigger by difference, and windows of count as Java makes them. */
final class Triggers {

    private Triggers() {}

    static final List<Case> CASES =
            List.of(
                    new Case("delta_trigger", env -> windows(env, delta(env))),
                    new Case(
                            "delta_trigger_purging",
                            env -> windows(env, PurgingTrigger.of(delta(env)))),
                    new Case("delta_trigger_with_evictor", Triggers::evicted),
                    new Case(
                            "count_window_all",
                            env ->
                                    input(env)
                                            .countWindowAll(3)
                                            .process(new Json.AllContents(), Types.STRING)),
                    new Case(
                            "count_window_all_slide",
                            env ->
                                    input(env)
                                            .countWindowAll(4, 2)
                                            .process(new Json.AllContents(), Types.STRING)));

    private static SingleOutputStreamOperator<Tuple3<String, Integer, Long>> input(
            StreamExecutionEnvironment env) {
        return unhurried(
                env,
                at("a", 1, 1_000),
                at("a", 3, 2_000),
                at("b", 7, 2_500),
                at("a", 6, 4_500),
                at("a", 7, 3_000),
                at("b", 1, 7_000),
                at("a", 20, 6_000),
                at("a", 21, 6_500));
    }

    private static DeltaTrigger<Tuple3<String, Integer, Long>, GlobalWindow> delta(
            StreamExecutionEnvironment env) {
        TypeSerializer<Tuple3<String, Integer, Long>> serializer =
                Types.<Tuple3<String, Integer, Long>>TUPLE(Types.STRING, Types.INT, Types.LONG)
                        .createSerializer(env.getConfig().getSerializerConfig());
        return DeltaTrigger.of(4.0, (old, last) -> Math.abs(last.f1 - old.f1), serializer);
    }

    private static DataStream<String> windows(
            StreamExecutionEnvironment env,
            Trigger<? super Tuple3<String, Integer, Long>, ? super GlobalWindow> trigger) {
        return keyed(input(env))
                .window(GlobalWindows.create())
                .trigger(trigger)
                .process(new Json.Contents<>(), Types.STRING);
    }

    private static DataStream<String> evicted(StreamExecutionEnvironment env) {
        return keyed(input(env))
                .window(GlobalWindows.create())
                .trigger(delta(env))
                .evictor(CountEvictor.of(2))
                .process(new Json.Contents<>(), Types.STRING);
    }
}
