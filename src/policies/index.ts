import type { AnswerCache } from '../core/cache/answer-cache.ts'
import type { Settlement } from '../core/call.ts'
import type { Ledger } from '../core/ledger/ledger.ts'
import type { RefusedLimit } from '../core/errors.ts'
import type { Limiter } from '../core/tenancy/limits.ts'
import type { AuthFailure } from '../core/sign-in/auth-failure.ts'
import type { Policy, RequestPolicy } from '../core/policy.ts'
import type { KeyRotationSettings } from '../core/settings.ts'
import type { Provider } from '../core/provider.ts'
import type { CurrentConfiguration } from '../core/model-directory.ts'
import type { FileStore } from '../core/objects/file-records.ts'
import type { FileCalls } from '../core/objects/files.ts'
import type { KeyDirectory } from '../core/tenancy/keys.ts'
import type { SessionGuard, TokenVerifier } from '../core/sign-in/sign-in.ts'
import type { TenantDirectory } from '../core/tenancy/tenancy-store.ts'
import type { Clock } from '../lib/clock.ts'
import type { Tokenizer } from '../lib/tokens/tokenizer.ts'
import { callTags } from './call-tags.ts'
import { clientCredentials } from './client-credentials.ts'
import { chargeBudgets } from './charge-budgets.ts'
import type { CallLimits } from './limits/call-limits.ts'
import { answerCache } from './answer-cache.ts'
import { checkFields, prepareCall } from './check-fields.ts'
import { countTokens } from './count-tokens.ts'
import { decodeInputs } from './decode-inputs.ts'
import { embeddingInputs } from './embedding-inputs.ts'
import { enforcedParams } from './enforced-params.ts'
import { fallbacks } from './fallbacks.ts'
import { fieldNames } from './field-names.ts'
import { identify } from './identify.ts'
import { modelAccess } from './model-access.ts'
import { modelMode } from './model-mode.ts'
import { namedFiles } from './named-files.ts'
import { namedTenants } from './named-tenants.ts'
import { providerBudgets } from './provider-budgets.ts'
import { providerObjects } from './provider-objects.ts'
import { countRequests, rateLimit } from './rate-limit.ts'
import { recordLedger } from './record-ledger.ts'
import { requireRole } from './require-role.ts'
import { tagFilter } from './tag-filter.ts'

/** What the policies work with. */
export interface AdmissionParts {
  readonly keys: KeyDirectory
  readonly installation: { isMasterKey(keyText: string): boolean }
  readonly sessions: SessionGuard
  readonly tokens: readonly TokenVerifier[]
  /** PROXY_BASE_URL; null = not given. */
  baseUrl(): string | null
  /** How old the texts of keys may become. */
  keyRotation(): KeyRotationSettings
  readonly clock: Clock
  /** By which periods of budgets begin on all replicas; see `SharedClock`. */
  readonly sharedClock: Clock
  readonly limiter: Limiter
  readonly limits: CallLimits
  readonly tenants: TenantDirectory
  readonly ledger: Ledger
  /** For requests; each call has taken its own. */
  readonly current: CurrentConfiguration
  readonly files: Pick<FileStore, 'find'>
  readonly fileCalls: Pick<FileCalls, 'bytes'>
  readonly tokenizer: Pick<Tokenizer, 'decode'>
  readonly cache: AnswerCache
  /** See `guardrails/policies.ts`. */
  readonly guardrails: readonly Policy[]
  /** See `stored-bodies/policy.ts`. */
  readonly storedBodies: Policy
  /** What notes of calls for their spans; see `telemetry/otel/trace-policies.ts`. */
  readonly tracing: { readonly first: readonly Policy[]; readonly last: readonly Policy[] }
  /** Policies of the program that starts the gateway; `createAdmission` shows their place. */
  readonly own: readonly Policy[]
  /** Those of this program. */
  providers(): Iterable<Provider>
  /** A request was refused for its key. */
  refused(failure: AuthFailure): void
  /** Writes the log line of a call. Called once per call, also for one that was refused; must not throw or wait. */
  log(settlement: Settlement): void
  /** Adds the call to the metrics. As `log`. */
  count(settlement: Settlement): void
  /** A request that is no call yet was refused by a limit. */
  limited(refused: RefusedLimit): void
}

/**
 * Admission, top to bottom: every request with a key passes the first group, every call the others. Beside these only
 * the reading of the body (size, memory, framing, encoding, JSON) refuses a request before it is routed. `settled` is
 * called from the bottom to the top: the ledger has its record before the log and the metrics.
 */
export function createAdmission(parts: AdmissionParts): readonly (RequestPolicy | Policy)[] {
  const money = { ...parts, clock: parts.sharedClock }
  const limits = rateLimit(money)
  const providers = providerBudgets(money)
  return [
    // Every request with a key, once its head is read.
    identify(parts),
    countRequests(parts, parts.current),
    requireRole(),

    // Every call, before its body is read: a refusal here costs no memory.
    ...parts.tracing.first,
    limits.onHead,

    // Once the body is read: its fields, the model, the deployments that may serve it.
    callTags(),
    fieldNames(),
    checkFields(),
    providerObjects(),
    prepareCall(),
    enforcedParams(),
    namedTenants(parts.tenants),
    modelAccess(),
    modelMode(),
    fallbacks(),
    tagFilter(parts.tenants),
    clientCredentials(parts),

    // Policies that read or change requests and answers.
    ...parts.guardrails,
    ...parts.own,
    parts.storedBodies,
    answerCache(parts.cache),

    embeddingInputs(),
    countTokens(),
    limits.onBody,
    providers.onBody,
    namedFiles(parts),
    decodeInputs(parts.tokenizer),

    // The call's intent is written to the journal; it is routed next.
    ...parts.tracing.last,
    { name: 'metrics', stage: 'body', settled: parts.count },
    { name: 'log', stage: 'body', settled: parts.log },
    recordLedger(parts.ledger, parts.limits.spendWriter),
    providers.atEnd,
    chargeBudgets(money),
  ]
}
