/** What is configured for coding agents, and their telemetry. */

/** Settings of coding agents. */
export interface AgentSettings {
  /** How long an access token holds. */
  readonly accessTokenMs: number
  /** A sign-in ends when its token is not refreshed for as long. */
  readonly idleMs: number
  /** A sign-in ends after this in any case. */
  readonly lifetimeMs: number
  /** What a refresh token that was used before does: see `RefreshAttempt`. */
  readonly refreshReuse: 'end' | 'refuse'
  /** Claude Code's settings for all users who sign in; null = there is no policy. */
  readonly managedSettings: Readonly<Record<string, unknown>> | null
  /** Further settings by the id of a team, over those for all. */
  readonly teamManagedSettings: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Where the telemetry of agents goes; null = nowhere. */
  readonly telemetry: TelemetryRelay | null
}

/** The kinds of telemetry. */
export const telemetrySignals = ['metrics', 'logs', 'traces'] as const
/** One of them. */
export type TelemetrySignal = (typeof telemetrySignals)[number]

/** A collector that speaks OTLP over HTTP. */
export interface TelemetryRelay {
  /** Without `/v1/metrics` and without a slash at the end. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  /** What is relayed; agents are configured to send nothing else. */
  readonly signals: readonly TelemetrySignal[]
}

/** Telemetry of one agent. */
export interface TelemetryPiece {
  readonly signal: TelemetrySignal
  /** As the agent sent it. */
  readonly contentType: string
  /** Unpacked. */
  readonly body: Uint8Array
}
