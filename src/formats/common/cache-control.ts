/** Breakpoints of a provider's prompt cache (platform.claude.com/docs/en/build-with-claude/prompt-caching). */
import type { CacheControl } from '../../core/hub/chat.ts'
import { isObject } from '../../lib/json/json-values.ts'

/** `cache_control` of Anthropic's API, which many clients put into OpenAI bodies too; undefined = none. */
export function readCacheControl(value: unknown): CacheControl | undefined {
  if (!isObject(value) || value.type !== 'ephemeral') return undefined
  return value.ttl === '5m' || value.ttl === '1h' ? { type: 'ephemeral', ttl: value.ttl } : { type: 'ephemeral' }
}
