import { ApiError } from '../api/client.ts'
import { t } from '../strings/index.ts'
import type { StringKey } from '../strings/index.ts'
import { toast } from './overlays/toast.tsx'
import { unansweredHelp } from './unanswered.ts'

/** A toast for an action that failed without a place of its own for the reason. 401 has its own dialog. */
export function reportError(error: unknown): void {
  if (!(error instanceof ApiError)) return toast(t('error.page'), { description: t('error.pageHelp'), kind: 'error' })
  if (error.status === 401) return
  const id = error.requestId ? ` (${t('all.requestId')} ${error.requestId})` : ''
  const description = error.status === 0 ? t(unansweredHelp(error)) : `${error.message}${id}`
  toast(t(titleOf(error.status)), { description, kind: 'error' })
}

/** A gateway that is away, or has failed, refused nothing. */
function titleOf(status: number): StringKey {
  if (status === 0) return 'error.offline'
  if (status === 403) return 'error.forbidden'
  return status >= 500 ? 'error.server' : 'error.invalid'
}
