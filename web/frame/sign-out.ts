import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { signOut } from '../api/session.ts'
import { setDevelopmentKey } from '../api/development-key.ts'
import { reportError } from '../components/report-error.ts'

/** To the sign-in, once the session has ended; all that was read with it is forgotten. */
export function useLeaveToSignIn(): () => Promise<void> {
  const client = useQueryClient()
  const navigate = useNavigate()
  return async () => {
    setDevelopmentKey('')
    await navigate({ to: '/login' as string })
    client.clear()
  }
}

/** Ends this session. */
export function useSignOut() {
  const leave = useLeaveToSignIn()
  return useMutation({ mutationFn: signOut, onSuccess: leave, onError: reportError })
}
