/** What a client asks of the gateway itself, in the body of its call; no upstream is told of it. */
import type { RouterSettings } from './settings.ts'

/** Per call; what is absent stays as the router is set. */
export interface RequestOverrides {
  /** Further attempts after the first; absent = as the router is set. */
  readonly retries?: number
  /** Models to try after the call's own, instead of those of the router; empty = none. */
  readonly fallbacks?: readonly string[]
  /** Model -> the model to try when a conversation is too long for it. */
  readonly contextFallbacks?: ReadonlyMap<string, string>
  /**
   * true = fields that the upstream lacks are dropped and reported; false = refused; absent = as the deployment says.
   */
  readonly dropParams?: boolean
  /** The longest that one attempt may take; for a stream, until it begins. It only shortens what the operator set. */
  readonly timeoutMs?: number
  /** Fields that nothing here fulfils: reported as dropped, or refused with those that the upstream lacks. */
  readonly unfulfilled: readonly string[]
  /** Of those: what is only left out where the client itself says `drop_params: true`. It must not believe in it. */
  readonly essential: readonly string[]
}

/** A call that overrides nothing. */
export const noOverrides: RequestOverrides = Object.freeze({
  unfulfilled: Object.freeze([]),
  essential: Object.freeze([]),
})

/** The models to try after the call's own, in order: the client's, else the router's for this model or for all. */
export function fallbackNames(
  model: string,
  { fallbacks }: RequestOverrides,
  { fallbacks: configured }: RouterSettings,
): string[] {
  return [...(fallbacks ?? configured[model] ?? configured['*'] ?? [])]
}

/** The model for conversations that are too long for this one, the model for those too long for that one, and so on. */
export function largerModels(model: string, { contextFallbacks }: RequestOverrides): string[] {
  const names: string[] = []
  for (let at = contextFallbacks?.get(model); at !== undefined; at = contextFallbacks?.get(at)) {
    if (at === model || names.includes(at)) break
    names.push(at)
  }
  return names
}
