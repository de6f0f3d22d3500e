// A page that breaks says so, and leaves the frame around it standing.
import { Component, type ComponentChildren } from 'preact';

export class Boundary extends Component<{ children: ComponentChildren }, { broken: boolean }> {
  state = { broken: false };
  static getDerivedStateFromError() {
    return { broken: true };
  }
  componentDidCatch(failure: unknown) {
    console.error(failure);
  }
  render() {
    if (!this.state.broken) return this.props.children;
    return (
      <div class="problem" role="alert">
        <p>This page could not be shown. Nothing is lost on the server.</p>
        <button type="button" onClick={() => window.location.reload()}>
          Load it again
        </button>
      </div>
    );
  }
}
