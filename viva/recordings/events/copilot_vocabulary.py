"""The names of Copilot's events and of the fields of their data, from the session events of
`github-copilot-sdk` 1.0.27.

Other names are tolerated and counted as unknown; a test compares this with the SDK that is installed.
"""

from __future__ import annotations

_TYPES = (
    "abort agent.interrupted assistant.fusion_phase_activity assistant.fusion_phase_completed "
    "assistant.fusion_phase_failed assistant.fusion_phase_started assistant.idle assistant.intent "
    "assistant.message assistant.message_delta assistant.message_start assistant.reasoning "
    "assistant.reasoning_delta assistant.server_tool_progress assistant.streaming_delta assistant.tool_call_delta "
    "assistant.turn_end assistant.turn_retry assistant.turn_start assistant.usage auto_mode_switch.completed "
    "auto_mode_switch.requested capabilities.changed command.completed command.execute command.queued "
    "commands.changed elicitation.completed elicitation.requested exit_plan_mode.completed "
    "exit_plan_mode.requested external_tool.completed external_tool.requested hook.end hook.progress hook.start "
    "human_response.recorded instruction.update mcp.headers_refresh_completed mcp.headers_refresh_required "
    "mcp.oauth_completed mcp.oauth_recovery_completed mcp.oauth_required mcp.prompts.list_changed "
    "mcp.resources.list_changed mcp.tools.list_changed mcp_app.tool_call_complete model.call_failure "
    "model.call_final_result model.call_finished model.call_start pending_messages.modified "
    "permission.assentDetected permission.carriedForward permission.completed permission.contextualAuthorization "
    "permission.messageAuthorization permission.messageAuthorizationDegraded permission.messageAuthorizationRead "
    "permission.requested prompt_cache_break sampling.completed sampling.requested sandbox.decision "
    "session.auto_mode_resolved session.auto_tier_recommendation session.auto_tier_switch_failed "
    "session.autopilot_objective_changed session.autopilot_stopped session.background_tasks_changed "
    "session.binary_asset session.canvas.closed session.canvas.opened session.canvas.recorded "
    "session.canvas.registry_changed session.canvas.removed session.canvas.unavailable "
    "session.compaction_complete session.compaction_start session.completion_receipt session.context_changed "
    "session.context_cleared session.custom_agents_updated session.custom_notification session.error "
    "session.extensions.attachments_pushed session.extensions_loaded session.fusion_completed "
    "session.fusion_resolved session.fusion_route_failed session.fusion_route_started session.handoff "
    "session.idle session.indexed_search session.info session.managed_plugin_progress "
    "session.managed_settings_enforced session.managed_settings_resolved session.mcp_server_needs_reconnect "
    "session.mcp_server_removed session.mcp_server_status_changed session.mcp_server_tools_loaded "
    "session.mcp_servers_loaded session.mode_changed session.mode_notice_delivered session.model_change "
    "session.model_deselected session.permission_recovery session.permissions_changed session.plan_changed "
    "session.quota_observation session.remote_steerable_changed session.resume session.schedule_cancelled "
    "session.schedule_created session.schedule_rearmed session.session_limits_changed session.shutdown "
    "session.skills_loaded session.snapshot_rewind session.start session.task_complete session.title_changed "
    "session.todos_changed session.tools_updated session.truncation session.usage_checkpoint session.usage_info "
    "session.warning session.workspace_file_changed session_limits_exhausted.completed "
    "session_limits_exhausted.requested skill.context_delivered skill.context_delivered_ref skill.invoked "
    "skill.invoked_ref subagent.completed subagent.configured subagent.deselected subagent.failed "
    "subagent.selected subagent.started system.message system.notification tool.execution_complete "
    "tool.execution_partial_result tool.execution_progress tool.execution_start tool.shell_output "
    "tool.user_requested tool_search.activated ui.ephemeral_query user.message user_input.completed "
    "user_input.requested workflow.run_settled workflow.run_started workflow.run_updated"
)
TYPES = frozenset(_TYPES.split())
"""All types of events."""
ENVELOPE = frozenset(("agentId", "data", "ephemeral", "id", "parentId", "timestamp", "type"))
FIELDS = {
    kind: frozenset(names.split())
    for kind, names in {
        "user.message": (
            "agentMode attachments content delivery interactionId isAutopilotContinuation messageId "
            "nativeDocumentPathFallbackPaths parentAgentTaskId responsesReasoning source "
            "supportedNativeDocumentMimeTypes transformedContent turnId"
        ),
        "assistant.message": (
            "apiCallId chunkCount chunkIndex citations clientRequestId content encryptedContent fusion interactionId "
            "messageId model originatingMessageId outputTokens parentToolCallId phase providerId reasoningBlocks "
            "reasoningOpaque reasoningText reasoningWireField requestId rte serverTools serviceRequestId toolRequests "
            "turnId"
        ),
        "assistant.usage": (
            "acceptedPredictionTokens accounting aiCreditsStatus apiCallId apiEndpoint availableToolCount byokKind "
            "cacheDetailsReported cacheExpiresAt cachePolicyTtlSeconds cacheReadTokens cacheTtlSeconds "
            "cacheWriteTokens contentFilterTriggered copilotUsage cost customToolCallCount duration finishReason "
            "frontierSource fusion initiator inputTokens interTokenLatencyMs interactionType isAuto isByok "
            "maxOutputTokens maxPromptTokens model modelDisplayName modelProvider numToolCalls orphanToolCallCount "
            "outputTokens outputTtftMs parentToolCallId provider providerCallId providerType quotaSnapshots "
            "reasoningEffort reasoningSummary reasoningTokens rejectedPredictionTokens requestBodyBytes "
            "requestBodyCompressionFallback requestBodyCompressionFallbackFrom requestBodyCompressionRejectedStatus "
            "requestBodyEncoding requestBodyWireBytes rte serviceRequestId thinkingDroppedBlocks "
            "thinkingDroppedReasons timeToFirstTokenMs toolCounts toolTokenCount transport unmatchedToolResultCount "
            "websocketFallbackAfterMs websocketFallbackCloseCode websocketFallbackErrorKind websocketFallbackReason "
            "websocketFallbackReconnectAttempted websocketFallbackStartedThisCall websocketFallbackStatusCode"
        ),
        "tool.execution_start": (
            "arguments displayVerbatim fusion mcpConfigServerName mcpConfigSource mcpServerName mcpToolName "
            "mcpTransport model parentToolCallId rte shellToolInfo toolCallId toolDescription toolName toolTitle "
            "turnId"
        ),
        "tool.execution_complete": (
            "error fileEdits fusion interactionId isUserRequested mcpMeta model parentToolCallId result rte sandboxed "
            "shellExecution success toolCallId toolDescription toolTelemetry toolUsage turnId"
        ),
        "abort": ("reason"),
        "model.call_failure": (
            "apiCallId apiEndpoint badRequestKind byokKind durationMs errorCode errorMessage errorType failureKind "
            "fusion initiator interactionType isAuto isByok maxOutputTokens maxPromptTokens model modelProvider "
            "parentToolCallId providerCallId providerType quotaSnapshots reasoningEffort requestBodyBytes "
            "requestBodyCompressionFallback requestBodyCompressionFallbackFrom requestBodyCompressionRejectedStatus "
            "requestBodyEncoding requestBodyWireBytes requestFingerprint retryAttempt rte serviceRequestId source "
            "statusCode transport websocketFallbackAfterMs websocketFallbackCloseCode websocketFallbackErrorKind "
            "websocketFallbackReason websocketFallbackReconnectAttempted websocketFallbackStartedThisCall "
            "websocketFallbackStatusCode"
        ),
        "subagent.started": (
            "agentDescription agentDisplayName agentName agentType executionMode model modelSelectionSource parentId "
            "resumable taskModelSource toolCallId workflowRunId"
        ),
        "subagent.completed": (
            "agentDisplayName agentName cancelled configuredModelMatchesActual configuredModelPreference durationMs "
            "explicitModelMatchesPreference explicitModelOverride firstDispatchedModel model modelOverrideReason "
            "modelSelectionSource toolCallId totalTokens totalToolCalls"
        ),
        "subagent.failed": (
            "agentDisplayName agentName configuredModelMatchesActual configuredModelPreference durationMs error "
            "explicitModelMatchesPreference explicitModelOverride firstDispatchedModel model modelOverrideReason "
            "modelSelectionSource toolCallId totalTokens totalToolCalls"
        ),
        "session.start": (
            "alreadyInUse autoTier autoTierManaged context contextTier contextTierManaged copilotVersion "
            "detachedFromSpawningParentSessionId githubMcpToolConfig producer providerId reasoningEffort "
            "reasoningEffortManaged reasoningEffortModel reasoningSummary remoteSteerable selectedModel sessionId "
            "sessionLimits startTime verbosity version"
        ),
        "session.task_complete": ("blocker objectiveId outcome reason success summary"),
        "session.compaction_complete": (
            "activeWorkflowSummary behaviorModelId checkpointNumber checkpointPath compactionAttemptId "
            "compactionTokensUsed conversationTokens customInstructions error failureReason initialModel "
            "messagesRemoved model outcome outcomeReason postCompactionTokens preCompactionMessagesLength "
            "preCompactionTokens requestId responsesReasoning serviceRequestId statusCode success summarizerProgress "
            "summaryContent switchTargetModel systemTokens targetPromptTokenLimit tokenAccountingBasis tokenLimit "
            "tokensRemoved toolDefinitionsTokens trigger"
        ),
        "session.shutdown": (
            "accountingSnapshot agentMetrics codeChanges conversationTokens currentModel currentTokens errorReason "
            "eventsFileSizeBytes modelMetrics providerModelMetrics sessionStartTime shutdownType systemTokens "
            "tokenDetails toolDefinitionsTokens toolUsageRequestIds totalApiDurationMs totalNanoAiu "
            "totalPremiumRequests usageAccountingWatermarks"
        ),
        "session.error": (
            "eligibleForAutoSwitch errorCode errorType message originatingMessageId providerCallId providerErrorParam "
            "providerErrorType remediation serviceRequestId stack statusCode url"
        ),
        "system.message": ("content contentBlocks interactionId metadata name role"),
    }.items()
}
"""Type of event to the fields of its data, for the types that are read."""
VALUES = {
    ("abort", "reason"): frozenset(("autopilot_credit_limit", "remote_command", "user_abort", "user_initiated")),
    ("model.call_failure", "failureKind"): frozenset(("api", "transport")),
    ("model.call_failure", "source"): frozenset(("mcp_sampling", "subagent", "top_level")),
    ("session.task_complete", "outcome"): frozenset(("blocked", "completed", "continue")),
}
"""Type of event and field to the values that it has, for the enumerations that are read."""
