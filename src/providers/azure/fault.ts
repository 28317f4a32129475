/** Azure's errors: OpenAI's, and the results of its content filter in `innererror` (docs: "Content filtering"). */
import type { UpstreamFault } from '../../core/provider.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { generalFault } from '../fault.ts'

/** As `generalFault`; a refusal by the content filter is `content-policy`, with the categories in the message. */
export function azureFault(status: number, body: unknown): UpstreamFault {
  const general = generalFault(status, body)
  const error = isObject(body) && isObject(body.error) ? body.error : {}
  const inner = isObject(error.innererror) ? error.innererror : {}
  if (status !== 400 || (error.code !== 'content_filter' && inner.code !== 'ResponsibleAIPolicyViolation'))
    return general
  const filtered = filteredBy(inner.content_filter_result ?? inner.content_filter_results)
  const message = filtered.length > 0 ? `${general.message} (filtered: ${filtered.join(', ')})` : general.message
  return { ...general, kind: 'content-policy', message }
}

/** `hate (high)` for each category that filtered. */
function filteredBy(results: unknown): string[] {
  return Object.entries(isObject(results) ? results : {}).flatMap(([category, result]) => {
    if (!isObject(result) || result.filtered !== true) return []
    return typeof result.severity === 'string' ? [`${category} (${result.severity})`] : [category]
  })
}
