import { useState } from 'preact/hooks';
import { Problem } from '../core/api';
import { useTitle } from '../core/hooks';
import { signIn } from '../core/session';

export function LoginPage() {
  useTitle('Sign in');
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    const token = String(new FormData(event.currentTarget as HTMLFormElement).get('token') ?? '').trim();
    setBusy(true);
    try {
      await signIn(token);
    } catch (failure) {
      const wrong = failure instanceof Problem && failure.status === 401;
      setProblem(wrong ? 'This token is not known here, or was revoked.' : String((failure as Error).message));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="login">
      <form onSubmit={onSubmit}>
        <img src="/quern.svg" alt="" width={64} height={64} />
        <h1>Quern</h1>
        <p>This server asks who you are. Paste the token that you were given.</p>
        <label>
          Token
          <input name="token" type="password" required autocomplete="current-password" autofocus aria-describedby="login-help" />
        </label>
        {problem !== '' && <p role="alert" class="bad">{problem}</p>}
        <button type="submit" class="main" disabled={busy}>
          Sign in
        </button>
        <p class="quiet" id="login-help">
          Whoever runs the server makes one with <code>quern token create --role reader</code>.
        </p>
      </form>
    </main>
  );
}
