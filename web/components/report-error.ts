import { ApiError } from '../api/client.ts'
import { t } from '../strings/index.ts'
import { toast } from './overlays/toast.tsx'

/** A toast for an action that failed without a place of its own for the reason. 401 has its own dialog. */
export function reportError(error: unknown): void {
  if (error instanceof ApiError && error.status === 401) return
  const isKnown = error instanceof ApiError
  const id = isKnown && error.requestId ? ` (${t('all.requestId')} ${error.requestId})` : ''
  toast(isKnown && error.status === 403 ? t('error.forbidden') : t('error.invalid'), {
    description: isKnown ? `${error.status === 0 ? t('error.offline') : error.message}${id}` : t('error.pageHelp'),
    isError: true,
  })
}
