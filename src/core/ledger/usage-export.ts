/** Where rows of the ledger are sent, and as what. */

import type { SinkSettings } from './sinks.ts'

/** Where rows are sent: `webhook`, `stripe`, or `sink:NAME`. */
export type ExportDestination = string

/** What is sent where. Secrets come from the environment. */
export interface UsageExportSettings {
  /** null = no webhook. */
  readonly webhookUrl: string | null
  /** null = no Stripe. */
  readonly stripe: StripeMeter | null
  readonly sinks: readonly SinkSettings[]
  /** So many rows wait for a destination at most; further ones are not sent there. */
  readonly waitingMax: number
}

/** How a row becomes a meter event of Stripe. */
export interface StripeMeter {
  readonly eventName: string
  /** The column with Stripe's id of the customer. */
  readonly customer: 'end_user' | 'key_id' | 'user_id' | 'team_id' | 'organization_id'
  readonly value: 'requests' | 'total_tokens' | 'input_tokens' | 'output_tokens' | 'cost_nano_usd'
  readonly baseUrl: string
}
