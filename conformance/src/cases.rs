//! Which rules does the suite prove? One file each, named for its rule.

use crate::case::Case;

mod activity_is_told_to_the_shim;
mod answer_is_shaped_like_a_local_one;
mod audio_and_vectors_of_a_model_without_the_task_400;
mod audio_is_replayed_whole;
mod audio_refusal_is_read_from_model_state;
mod bad_json_400;
mod bad_remote_header_400;
mod body_over_limit_413;
mod bridged_request_wakes_local;
mod broken_engine_stream_says_so;
mod caller_cannot_spoof_disclosure;
mod client_error_is_never_retried;
mod client_leaves_cancels_both_legs;
mod close_delimited_answer;
mod cold_start_hands_back;
mod connect_refused_is_provisioning;
mod dripped_head_408;
mod early_call_waits_for_the_shim;
mod early_refusal_is_heard;
mod engine_comes_and_goes;
mod engine_refusal_shapes;
mod events_flushed_at_once;
mod every_surface_reaches_its_upstream;
mod expect_continue;
mod explicit_profile_is_honoured;
mod extra_bytes_poison_nobody;
mod extract_is_bridged;
mod failed_load_is_left_to_the_engine;
mod failing_load_is_nobodys_problem;
mod first_byte_budget_bounds_both_legs;
mod flapping_engine_is_asked_each_time;
mod forbid_is_never_bridged;
mod half_written_body_is_not_sent_again;
mod hanging_connect_is_decided_in_time;
mod head_request_has_no_body;
mod held_bytes_budget_503;
mod held_calls_are_bridged_instead;
mod hot_restart_is_agreed;
mod hot_restart_loses_nothing;
mod http10_client_served_locally;
mod in_stream_error_after_first_byte;
mod inputs_travel_in_batches;
mod interim_answers_are_skipped;
mod invalid_upstream_answer_restores;
mod keepalive_race_runs_once;
mod keepalive_reuse_and_stale_engine_connection;
mod lame_duck_still_serves;
mod load_call_brings_the_callers_key;
mod model_not_found_passes_through;
mod models_list_has_routing;
mod models_list_is_complete;
mod msgpack_is_bridged;
mod native_calls_reach_an_openai_upstream;
mod no_caller_header_travels;
mod no_fallback_after_first_byte;
mod nothing_runs_twice;
mod onboarded_chat_is_rendered_here;
mod original_refusal_restored;
mod pipelined_requests_answered_in_order;
mod preset_loads_what_would_be_held;
mod private_reasoning_stays_private;
mod rate_cap_restores;
mod readyz_livez;
mod redirect_is_refused;
mod refused_calls_wish_once;
mod remote_only_never_touches_local;
mod secret_never_appears;
mod shim_any_order_of_starting;
mod shim_cold_start_is_bridged;
mod shim_crash_is_told_and_mended;
mod shim_crash_loop_is_latched;
mod shim_drains_with_the_engine;
mod shim_flapping_engine_bleeds_nothing;
mod shim_idle_engine_sleeps;
mod shim_killed_engine_is_tried;
mod shim_loads_what_would_be_held;
mod shim_sleep_waits_for_calls;
mod sigkill_leaves_nothing_stale;
mod sigterm_drains;
mod state_feed_refuses_before_asking;
mod state_feed_spares_engines_that_hold_calls;
mod stray_signals_end_nothing;
mod stream_primes_on_content;
mod strict_output_is_verified;
mod switch_off;
mod term_after_the_engine_is_gone;
mod trigger_list_is_obeyed;
mod unix_sockets;
mod unknown_fields_are_rejected_alike;
mod unknown_model_passes_untouched;
mod upstream_answers_are_bounded;
mod upstream_failure_restores;
mod websocket_upgrade_tunnels;

/// Every case, by name.
pub const ALL: &[Case] = &[
    activity_is_told_to_the_shim::CASE,
    answer_is_shaped_like_a_local_one::CASE,
    audio_and_vectors_of_a_model_without_the_task_400::CASE,
    audio_is_replayed_whole::CASE,
    audio_refusal_is_read_from_model_state::CASE,
    bad_json_400::CASE,
    bad_remote_header_400::CASE,
    body_over_limit_413::CASE,
    bridged_request_wakes_local::CASE,
    broken_engine_stream_says_so::CASE,
    caller_cannot_spoof_disclosure::CASE,
    client_error_is_never_retried::CASE,
    client_leaves_cancels_both_legs::CASE,
    close_delimited_answer::CASE,
    cold_start_hands_back::CASE,
    connect_refused_is_provisioning::CASE,
    dripped_head_408::CASE,
    early_call_waits_for_the_shim::CASE,
    early_refusal_is_heard::CASE,
    engine_comes_and_goes::CASE,
    engine_refusal_shapes::CASE,
    events_flushed_at_once::CASE,
    every_surface_reaches_its_upstream::CASE,
    expect_continue::CASE,
    explicit_profile_is_honoured::CASE,
    extra_bytes_poison_nobody::CASE,
    extract_is_bridged::CASE,
    failed_load_is_left_to_the_engine::CASE,
    failing_load_is_nobodys_problem::CASE,
    first_byte_budget_bounds_both_legs::CASE,
    flapping_engine_is_asked_each_time::CASE,
    forbid_is_never_bridged::CASE,
    half_written_body_is_not_sent_again::CASE,
    hanging_connect_is_decided_in_time::CASE,
    head_request_has_no_body::CASE,
    held_bytes_budget_503::CASE,
    held_calls_are_bridged_instead::CASE,
    hot_restart_is_agreed::CASE,
    hot_restart_loses_nothing::CASE,
    http10_client_served_locally::CASE,
    in_stream_error_after_first_byte::CASE,
    inputs_travel_in_batches::CASE,
    interim_answers_are_skipped::CASE,
    invalid_upstream_answer_restores::CASE,
    keepalive_race_runs_once::CASE,
    keepalive_reuse_and_stale_engine_connection::CASE,
    lame_duck_still_serves::CASE,
    load_call_brings_the_callers_key::CASE,
    model_not_found_passes_through::CASE,
    models_list_has_routing::CASE,
    models_list_is_complete::CASE,
    msgpack_is_bridged::CASE,
    native_calls_reach_an_openai_upstream::CASE,
    no_caller_header_travels::CASE,
    no_fallback_after_first_byte::CASE,
    nothing_runs_twice::CASE,
    onboarded_chat_is_rendered_here::CASE,
    original_refusal_restored::CASE,
    pipelined_requests_answered_in_order::CASE,
    preset_loads_what_would_be_held::CASE,
    private_reasoning_stays_private::CASE,
    rate_cap_restores::CASE,
    readyz_livez::CASE,
    redirect_is_refused::CASE,
    refused_calls_wish_once::CASE,
    remote_only_never_touches_local::CASE,
    secret_never_appears::CASE,
    shim_any_order_of_starting::CASE,
    shim_cold_start_is_bridged::CASE,
    shim_crash_is_told_and_mended::CASE,
    shim_crash_loop_is_latched::CASE,
    shim_drains_with_the_engine::CASE,
    shim_flapping_engine_bleeds_nothing::CASE,
    shim_idle_engine_sleeps::CASE,
    shim_killed_engine_is_tried::CASE,
    shim_loads_what_would_be_held::CASE,
    shim_sleep_waits_for_calls::CASE,
    sigkill_leaves_nothing_stale::CASE,
    sigterm_drains::CASE,
    state_feed_refuses_before_asking::CASE,
    state_feed_spares_engines_that_hold_calls::CASE,
    stray_signals_end_nothing::CASE,
    stream_primes_on_content::CASE,
    strict_output_is_verified::CASE,
    switch_off::CASE,
    term_after_the_engine_is_gone::CASE,
    trigger_list_is_obeyed::CASE,
    unix_sockets::CASE,
    unknown_fields_are_rejected_alike::CASE,
    unknown_model_passes_untouched::CASE,
    upstream_answers_are_bounded::CASE,
    upstream_failure_restores::CASE,
    websocket_upgrade_tunnels::CASE,
];

#[cfg(test)]
mod tests {
    use super::ALL;

    /// The rows of the fault catalogue that must have a case: the engine, and the life of the process.
    const FAULTS: &[&str] =
        &["L5", "L6", "L7", "L8", "L9", "L10", "L19", "L20", "L22", "X4", "X5", "X6", "X7", "X8", "X9"];

    #[test]
    fn names_are_sorted_and_every_rule_is_a_sentence() {
        assert!(ALL.windows(2).all(|pair| pair[0].name < pair[1].name));
        assert!(ALL.iter().all(|case| case.clause.len() > 40));
    }

    #[test]
    fn every_fault_row_has_a_case_and_no_case_claims_another() {
        let claimed: Vec<&str> = ALL.iter().flat_map(|case| case.faults).copied().collect();
        for row in FAULTS {
            assert!(claimed.contains(row), "no case proves {row}");
        }
        assert!(claimed.iter().all(|row| FAULTS.contains(row)), "{claimed:?}");
    }
}
