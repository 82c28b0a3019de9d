//! Who vouches for whom? An authority for one test, and clients and servers that trust it.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// A certificate and its key.
pub(crate) struct Pair {
    der: CertificateDer<'static>,
    pem: String,
    key: KeyPair,
}

impl Pair {
    fn key_der(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.serialize_der()).into()
    }

    /// Writes both as PEM files: certificate, key.
    pub(crate) fn write(&self, folder: &Path, name: &str) -> (PathBuf, PathBuf) {
        let (cert, key) = (folder.join(format!("{name}.crt")), folder.join(format!("{name}.key")));
        std::fs::write(&cert, &self.pem).expect("a file");
        std::fs::write(&key, self.key.serialize_pem()).expect("a file");
        (cert, key)
    }
}

/// A certificate authority.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    der: CertificateDer<'static>,
    pem: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let cert = params.self_signed(&key).expect("a certificate");
        Self { der: cert.der().clone(), pem: cert.pem(), issuer: Issuer::new(params, key) }
    }

    /// A certificate for one name, good for servers and clients.
    pub(crate) fn pair(&self, name: &str) -> Pair {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
        let cert = params.signed_by(&key, &self.issuer).expect("a certificate");
        Pair { der: cert.der().clone(), pem: cert.pem(), key }
    }

    pub(crate) fn write(&self, folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(format!("{name}.pem"));
        std::fs::write(&path, &self.pem).expect("a file");
        path
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).expect("a root");
        roots
    }

    /// A client that trusts this authority, offers these protocols, and shows `own` when asked.
    pub(crate) fn client(&self, alpn: &[&str], own: Option<&Pair>) -> TlsConnector {
        let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(self.roots());
        let mut config = match own {
            None => builder.with_no_client_auth(),
            Some(pair) => builder.with_client_auth_cert(vec![pair.der.clone()], pair.key_der()).expect("a pair"),
        };
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        TlsConnector::from(Arc::new(config))
    }

    /// A server that shows `own`, and asks callers for a certificate of this authority when `asks`.
    pub(crate) fn server(&self, own: &Pair, asks: bool) -> TlsAcceptor {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("versions");
        let builder = if asks {
            let roots = Arc::new(self.roots());
            let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(roots, provider).build();
            builder.with_client_cert_verifier(verifier.expect("a verifier"))
        } else {
            builder.with_no_client_auth()
        };
        let config = builder.with_single_cert(vec![own.der.clone()], own.key_der()).expect("a pair");
        TlsAcceptor::from(Arc::new(config))
    }
}
