import type { Call } from '../call.ts'

/**
 * Whether the configuration, the key, its team, or the client says that nothing may be kept of what is said in a call;
 * or it is its owner's alone.
 */
export function refusesStorage({ caller, options, overrides, headers, models }: Call): boolean {
  const { isOn, clientsMayRefuse } = models.settings.bodies
  if (isOn === false || options.isPrivate) return true
  if (caller.key.storesBodies === false || caller.team?.storesBodies === false) return true
  return clientsMayRefuse && (overrides.noLog === true || isTrue(headers?.get(refusingHeader)))
}

/** LiteLLM's, for dialects whose bodies have no word for it. */
const refusingHeader = 'x-litellm-enable-message-redaction'

const isTrue = (text: string | null | undefined): boolean => text?.toLowerCase() === 'true'
